import type { Reference } from '../../../../client/index.ts';
import { inWords } from '../../schema/fields.ts';
import { useModel } from '../../service/model.tsx';
import { addresses } from '../../shell/addresses.ts';
import { Link } from '../../shell/link.tsx';
import { useWords } from '../../words/index.ts';
import { namesOf } from './field-names.ts';
import styles from './references.module.css';

/** A place that points at a document: the document or global, and its field. */
export function ReferenceRow({ reference }: { reference: Reference }) {
  const { references } = useWords();
  const { collections, globals } = useModel();
  const { field, title } = reference;
  const [to, kind, fields] =
    'global' in reference
      ? ([
          addresses.global(reference.global),
          globals.get(reference.global)?.label ?? inWords(reference.global),
          globals.get(reference.global)?.fields,
        ] as const)
      : ([
          addresses.document(reference.collection, reference.id),
          collections.get(reference.collection)?.singular ?? inWords(reference.collection),
          collections.get(reference.collection)?.fields,
        ] as const);
  return (
    <li className={styles.row}>
      <Link to={to} className={styles.title}>
        {title}
      </Link>
      <span className={styles.about}>
        {kind} · {references.field} {namesOf(fields ?? [], field)}
      </span>
    </li>
  );
}

import type { Collection } from '../../../schema/model.ts';
import { client } from '../../../service/client.ts';
import { messageOf, useRead } from '../../../service/queries.ts';
import { addresses } from '../../../shell/addresses.ts';
import { Link } from '../../../shell/link.tsx';
import { useWords } from '../../../words/index.ts';
import { ReferenceRow } from '../../references/reference-row.tsx';
import styles from '../media.module.css';

const most = 5;

/** The first places that point at a file. */
export function UsedBy({ collection, id }: { collection: Collection; id: string }) {
  const { media } = useWords();
  const { data, error } = useRead(['references', collection.slug, id, most], (reading) =>
    client.collection(collection.slug).references(id, { ...reading, limit: most }),
  );
  return (
    <section className={styles.part}>
      <h3>{media.usedBy}</h3>
      {error !== null && <p className={styles.problem}>{messageOf(error)}</p>}
      {data?.docs.length === 0 && <p className={styles.soft}>{media.unused}</p>}
      <ul className={styles.used}>
        {data?.docs.map((reference) => (
          <ReferenceRow key={`${reference.id}${reference.field}`} reference={reference} />
        ))}
      </ul>
      {data !== undefined && data.total > most && (
        <Link to={addresses.references(collection.slug, id)}>{media.allReferences(data.total)}</Link>
      )}
    </section>
  );
}

import type { PublicationPlan } from '../../../../../client/index.ts';
import { textOfValue } from '../../../parts/texts.ts';
import { useFormatters } from '../../../parts/use-texts.ts';
import { fieldAt, labelOf } from '../../../schema/fields.ts';
import { useRead } from '../../../service/queries.ts';
import { addresses } from '../../../shell/addresses.ts';
import { Link } from '../../../shell/link.tsx';
import { useWords } from '../../../words/index.ts';
import { fieldsOf, type Subject, slugOf } from '../save/subject.ts';
import { tryPublication } from './calls.ts';
import styles from './publishing.module.css';
import type { Lines } from './use-lines.ts';

/** The effect of a publication of the draft, as the service tells it beforehand; undefined until it is known. */
export function useTrial(subject: Subject, { etag, actions }: Lines): PublicationPlan | undefined {
  const id = subject.kind === 'global' ? '' : subject.id;
  const { data } = useRead(
    ['document', slugOf(subject), id, 'publication', etag],
    ({ signal }) => tryPublication(subject, { signal }),
    { enabled: actions.publish, staleTime: 0 },
  );
  return data;
}

type Props = { trial: PublicationPlan | undefined; subject: Subject };

/** The problems of a publication, the documents that readers would miss in it, and the public values it replaces. */
export function TrialNotes({ trial, subject }: Props) {
  const { drafts } = useWords();
  const formatters = useFormatters();
  if (trial === undefined) return null;
  const fields = fieldsOf(subject);
  const labelAt = (path: string) => labelOf(fieldAt(fields, path) ?? { name: path });
  const textAt = (path: string, value: unknown) => {
    const field = fieldAt(fields, path);
    return (field && textOfValue(value, field, formatters)) || drafts.nothing;
  };
  return (
    <>
      {trial.problems.length > 0 && (
        <div className={styles.note} role="status" data-trial="problems">
          {drafts.problems}
          <ul>
            {trial.problems.map(({ field, message }) => (
              <li key={`${field} ${message}`}>
                {labelAt(field)}: {message}
              </li>
            ))}
          </ul>
        </div>
      )}
      {trial.notPublished.length > 0 && (
        <div className={styles.note} role="status" data-trial="not-published">
          {drafts.notPublished}
          <ul>
            {trial.notPublished.map(({ field, collection, id, title }) => (
              <li key={`${field} ${id}`}>
                {labelAt(field)}: <Link to={addresses.document(collection, id)}>{title ?? id}</Link>
              </li>
            ))}
          </ul>
        </div>
      )}
      {trial.overwritten.length > 0 && (
        <div className={styles.note} role="status" data-trial="overwritten">
          {drafts.overwrites}
          <ul>
            {trial.overwritten.map(({ field, now, then }) => (
              <li key={field}>{drafts.overwritten(labelAt(field), textAt(field, now), textAt(field, then))}</li>
            ))}
          </ul>
        </div>
      )}
    </>
  );
}

import type { RestorePlan, Trashed } from '../../../../client/index.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { textOfValue } from '../../parts/texts.ts';
import { tell } from '../../parts/toast.ts';
import { useFormatters } from '../../parts/use-texts.ts';
import { fieldAt, labelOf } from '../../schema/fields.ts';
import { type Collection, viewOf } from '../../schema/model.ts';
import { client, reasonOfTrial } from '../../service/client.ts';
import { useCollection } from '../../service/model.tsx';
import { forget, messageOf, useRead } from '../../service/queries.ts';
import { addresses } from '../../shell/addresses.ts';
import { Link } from '../../shell/link.tsx';
import { useWords } from '../../words/index.ts';
import styles from './trash.module.css';

/** Restores a deleted document, after showing its values. */
export function RestoreDialog({ deleted, close }: { deleted: Trashed; close: () => void }) {
  const { trash } = useWords();
  const collection = useCollection(deleted.collection);
  const { id, version } = deleted;
  const view = collection ? viewOf(collection) : {};
  const { restore } = client.collection(deleted.collection);
  const name = deleted.title ?? collection?.singular ?? deleted.collection;
  const { data, error } = useRead(['plan', { slug: deleted.collection, id, version }], ({ signal }) =>
    restore(id, { version }, { dryRun: true, signal, ...reasonOfTrial, ...view }),
  );
  return (
    <Confirm
      title={trash.restoreTitle(name)}
      button={trash.restore}
      reason={collection?.requireReason ? 'required' : 'optional'}
      onClose={close}
      confirm={async (options) => {
        await (view.draft ? restore(id, { version }, { ...options, draft: true }) : restore(id, { version }, options));
        await forget(deleted.collection);
        tell(trash.restored(name));
      }}
    >
      {error !== null ? (
        <p role="alert" className={styles.problem}>
          {messageOf(error)}
        </p>
      ) : data === undefined || collection === undefined ? (
        <p role="status" className={styles.soft}>
          {trash.looking}
        </p>
      ) : (
        <>
          {view.draft && <p>{trash.asDraft}</p>}
          <Plan plan={data} collection={collection} />
        </>
      )}
    </Confirm>
  );
}

const mostFields = 12;

/** The values that a restore brings back, the deleted documents among them, and unique values now used by others. */
function Plan({ plan, collection }: { plan: RestorePlan; collection: Collection }) {
  const { trash } = useWords();
  const formatters = useFormatters();
  const nameOf = (path: string) => labelOf(fieldAt(collection.fields, path) ?? { name: path });
  const back = plan.diff.flatMap(({ field, after }) => {
    const known = fieldAt(collection.fields, field);
    const text = known === undefined ? '' : textOfValue(after, known, formatters);
    return text === '' ? [] : [{ field, text }];
  });
  return (
    <>
      {plan.conflicts.length > 0 && (
        <div role="alert" className={styles.problem}>
          <p>{trash.conflicts}</p>
          <ul>
            {plan.conflicts.map(({ field, id }) => (
              <li key={field}>
                {trash.taken(nameOf(field))}{' '}
                {id !== undefined && <Link to={addresses.document(collection.slug, id)}>{trash.openTaken}</Link>}
              </li>
            ))}
          </ul>
        </div>
      )}
      <div>
        <p className={styles.soft}>
          {trash.comesBack}: {trash.fields(back.length)}
        </p>
        <dl className={styles.fields}>
          {back.slice(0, mostFields).map(({ field, text }) => (
            <div key={field}>
              <dt>{nameOf(field)}</dt>
              <dd>{text}</dd>
            </div>
          ))}
        </dl>
      </div>
      {plan.dangling.length > 0 && (
        <div className={styles.warning}>
          <p>{trash.dangling}:</p>
          <ul>
            {plan.dangling.map(({ field, id }) => (
              <li key={`${field} ${id}`}>
                {nameOf(field)}: {id.slice(0, 8)}…
              </li>
            ))}
          </ul>
        </div>
      )}
    </>
  );
}

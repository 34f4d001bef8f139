import type { RestorePlan } from '../../../../client/index.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { tell } from '../../parts/toast.ts';
import { fieldAt, labelOf } from '../../schema/fields.ts';
import { forget, useRead } from '../../service/queries.ts';
import { useTitles } from '../../service/related-titles.ts';
import { Loading } from '../../shell/loading.tsx';
import { Failure } from '../../shell/page.tsx';
import { useWords } from '../../words/index.ts';
import styles from './history.module.css';
import { planRestore, restore, type Target } from './target.ts';
import { Difference } from './value.tsx';
import { differenceOf, relatedIn } from './values.ts';

type Props = { target: Target; version: number; onClose: () => void };

/** Restores a version, after showing what that changes. */
export function RestoreDialog({ target, version, onClose }: Props) {
  const { history } = useWords();
  const id = target.kind === 'global' ? '' : target.id;
  const { data, error } = useRead(['plan', target.slug, id, version], ({ signal }) =>
    planRestore(target, { version }, signal),
  );
  return (
    <Confirm
      title={history.restoreTitle(version)}
      button={history.restore}
      reason={target.requireReason ? 'required' : 'optional'}
      onClose={onClose}
      confirm={async (options) => {
        await restore(target, { version }, options);
        tell(history.restored(version));
        await forget(target.slug);
      }}
    >
      <p>{target.view.draft ? history.restoreDraftText : history.restoreText}</p>
      {error !== null && <Failure error={error} />}
      {error === null && data === undefined && <Loading />}
      {data !== undefined && <Plan plan={data} target={target} />}
    </Confirm>
  );
}

function Plan({ plan, target }: { plan: RestorePlan; target: Target }) {
  const { history } = useWords();
  const labelAt = (path: string) => labelOf(fieldAt(target.fields, path) ?? { name: path });
  const rows = plan.diff.map(({ field, before, after }) => ({
    field,
    difference: differenceOf(fieldAt(target.fields, field), before, after),
  }));
  const titles = useTitles(rows.flatMap(({ difference }) => relatedIn(difference)));
  return (
    <>
      {plan.diff.length === 0 && <p>{history.restoreNothing}</p>}
      <dl className={styles.fields}>
        {rows.map(({ field, difference }) => (
          <div key={field}>
            <dt>{labelAt(field)}</dt>
            <dd>
              <Difference difference={difference} titles={titles} />
            </dd>
          </div>
        ))}
      </dl>
      <Problems title={history.dangling} fields={plan.dangling.map(({ field }) => labelAt(field))} />
      <Problems title={history.conflicts} fields={plan.conflicts.map(({ field }) => labelAt(field))} />
    </>
  );
}

function Problems({ title, fields }: { title: string; fields: string[] }) {
  if (fields.length === 0) return null;
  return (
    <p role="alert" className={styles.problem}>
      {title} {fields.join(', ')}
    </p>
  );
}

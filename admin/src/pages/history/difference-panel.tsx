import { Button, NativeSelect } from '@mantine/core';
import { useState } from 'react';
import { ActorName } from '../../parts/actors.tsx';
import { Panel, panelStyles } from '../../parts/panel.tsx';
import { momentOf } from '../../parts/times.tsx';
import { fieldAt, labelOf } from '../../schema/fields.ts';
import { client } from '../../service/client.ts';
import { useModel } from '../../service/model.tsx';
import { useRead } from '../../service/queries.ts';
import { readTitles } from '../../service/related-titles.ts';
import { Link } from '../../shell/link.tsx';
import { Loading } from '../../shell/loading.tsx';
import { Failure } from '../../shell/page.tsx';
import { useLanguage, useWords } from '../../words/index.ts';
import styles from './history.module.css';
import { RestoreDialog } from './restore-dialog.tsx';
import { auditTargetOf, type History, type Target } from './target.ts';
import { Difference } from './value.tsx';
import { differenceOf, relatedIn } from './values.ts';

type Props = {
  target: Target;
  history: History;
  version: number;
  against: number;
  compare: (against: number) => void;
  address: string;
  mayRestore: boolean;
};

/** The comparison of a version with another: its actor and reason, and the difference of each field. */
export function DifferencePanel({ target, history: own, version, against, compare, address, mayRestore }: Props) {
  const { history } = useWords();
  const language = useLanguage();
  const [isRestoring, setRestoring] = useState(false);
  const fact = own.versions.find((one) => one.version === version);
  return (
    <Panel
      title={history.version(version)}
      actions={
        <div className={styles.actions}>
          {fact !== undefined && (
            <Link to={`${address}?asOf=${fact.position}`} className={styles.link}>
              {history.viewAsOf}
            </Link>
          )}
          {mayRestore && (
            <Button size="compact-md" onClick={() => setRestoring(true)}>
              {history.restore}
            </Button>
          )}
        </div>
      }
    >
      <div className={panelStyles.body}>
        {fact !== undefined && (
          <p>
            <ActorName actor={fact.actor} /> · {momentOf(fact.recordedAt, language)} · {history.position(fact.position)}
          </p>
        )}
        {fact?.reason && (
          <p>
            {history.because}: <q>{fact.reason}</q>
          </p>
        )}
        <NativeSelect
          className={styles.against}
          label={history.against}
          value={String(against)}
          onChange={(event) => compare(Number(event.currentTarget.value))}
          data={[
            ...own.versions
              .filter((one) => one.version !== version)
              .map((one) => ({
                value: String(one.version),
                label: `${history.version(one.version)}, ${momentOf(one.recordedAt, language)}`,
              })),
            { value: '0', label: history.emptyState },
          ]}
        />
        <Differences target={target} version={version} against={against} position={fact?.position} />
      </div>
      {isRestoring && <RestoreDialog target={target} version={version} onClose={() => setRestoring(false)} />}
    </Panel>
  );
}

type DifferencesProps = { target: Target; version: number; against: number; position: number | undefined };

function Differences({ target, version, against, position }: DifferencesProps) {
  const { history } = useWords();
  const model = useModel();
  const place = ['diff', target.slug, target.kind === 'global' ? '' : target.id, against, version];
  const { data, error, refetch } = useRead(place, async ({ signal }) => {
    const options = { from: against, to: version, signal };
    const { fields } = await client.audit.diff(auditTargetOf(target), options);
    const rows = (fields ?? []).map(({ field: name, before, after }) => {
      const field = fieldAt(target.fields, name);
      return { name, label: labelOf(field ?? { name }), difference: differenceOf(field, before, after) };
    });
    const ids = rows.flatMap(({ difference }) => relatedIn(difference));
    const asOf = position === undefined ? {} : { asOf: position };
    const titles = ids.length === 0 ? new Map<string, string>() : await readTitles(model, ids, { signal, ...asOf });
    return { isErased: fields === null, rows, titles };
  });
  if (error !== null) return <Failure error={error} again={() => void refetch()} />;
  if (data === undefined) return <Loading />;
  if (data.isErased) return <p>{history.erased}</p>;
  if (data.rows.length === 0) return <p>{history.nothingChanged}</p>;
  return (
    <dl className={styles.fields}>
      {data.rows.map(({ name, label, difference }) => (
        <div key={name}>
          <dt>{label}</dt>
          <dd>
            <Difference difference={difference} titles={data.titles} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

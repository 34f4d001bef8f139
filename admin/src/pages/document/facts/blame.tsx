import { createContext, type ReactNode, useContext } from 'react';
import type { BlamedField } from '../../../../../client/index.ts';
import { nameOfActor } from '../../../parts/actors.tsx';
import { agoOf, momentOf } from '../../../parts/times.tsx';
import { client } from '../../../service/client.ts';
import { useModel } from '../../../service/model.tsx';
import { useRead } from '../../../service/queries.ts';
import { useAccount } from '../../../service/session.ts';
import { addresses } from '../../../shell/addresses.ts';
import { Link } from '../../../shell/link.tsx';
import { useLanguage, useWords } from '../../../words/index.ts';
import { type Subject, slugOf } from '../save/subject.ts';
import styles from './blame.module.css';

type Blame = { address: string; fields: Map<string, BlamedField> };

const BlameContext = createContext<Blame | null>(null);

type Props = { subject: Subject; version: number | null; children: ReactNode };

/** Provides the labels with the version that set each field, for users who may see what changed. */
export function BlameProvider({ subject, version, children }: Props) {
  const { audit } = useModel();
  const id = subject.kind === 'global' ? '' : subject.id;
  const { data } = useRead(
    ['blame', slugOf(subject), id, version],
    async ({ signal }) => {
      const target =
        subject.kind === 'global' ? { global: slugOf(subject) } : { collection: slugOf(subject), id: id ?? '' };
      const options = { actors: 'names', signal, ...(version === null ? {} : { version }) } as const;
      const { fields } = await client.audit.blame(target, options);
      return new Map(fields.map((field) => [field.field, field]));
    },
    { enabled: audit.has('payloads') && id !== null && version !== 0, keep: true, staleTime: 60_000 },
  );
  const address =
    subject.kind === 'global' ? addresses.globalHistory(slugOf(subject)) : addresses.history(slugOf(subject), id ?? '');
  return <BlameContext value={data === undefined ? null : { address, fields: data }}>{children}</BlameContext>;
}

/** The version that set each top-level field; undefined for users who may not see it. */
export function useBlame(): ReadonlyMap<string, BlamedField> | undefined {
  return useContext(BlameContext)?.fields;
}

/** The version that set a top-level field, beside its label: shown while the field is pointed at or has the focus. */
export function BlameNote({ path }: { path: string }) {
  const { shared, history } = useWords();
  const language = useLanguage();
  const { user } = useAccount();
  const blame = useContext(BlameContext);
  const set = blame?.fields.get(path);
  if (!blame || set === undefined || set.version === null) return null;
  const name = nameOfActor(set.actor, shared, user.id);
  const reason = set.reason === null ? '' : `\n${history.because}: ${set.reason}`;
  return (
    <Link
      to={`${blame.address}?v=${set.version}`}
      className={styles.note}
      title={`${history.version(set.version)}, ${momentOf(set.recordedAt, language)}${reason}`}
    >
      {name}, {agoOf(set.recordedAt, language)}
    </Link>
  );
}

import type { Version } from '../../../../client/index.ts';
import { ActorName } from '../../parts/actors.tsx';
import { type Field, fieldAt, labelOf } from '../../schema/fields.ts';
import { useLanguage, useWords, type Words } from '../../words/index.ts';
import styles from './history.module.css';
import type { History } from './target.ts';

type Props = { history: History; fields: readonly Field[]; selected: number; open: (version: number) => void };

/** The versions of a document by day, the newest first. */
export function VersionList({ history: { versions }, fields, selected, open }: Props) {
  const { history } = useWords();
  const language = useLanguage();
  const days = Map.groupBy(versions, ({ recordedAt }) => new Date(recordedAt).toDateString());
  return (
    <nav className={styles.versions} aria-label={history.versions}>
      {[...days].map(([day, own]) => (
        <section key={day}>
          <h2>{dayOf(new Date(day), history, language)}</h2>
          <ul>
            {own.map((version) => (
              <li key={version.version}>
                <VersionButton
                  version={version}
                  fields={fields}
                  isSelected={version.version === selected}
                  open={open}
                />
              </li>
            ))}
          </ul>
        </section>
      ))}
    </nav>
  );
}

/** The most names of changed fields that a row shows. */
const most = 4;

type ButtonProps = { version: Version; fields: readonly Field[]; isSelected: boolean; open: (version: number) => void };

function VersionButton({ version, fields, isSelected, open }: ButtonProps) {
  const { history } = useWords();
  const language = useLanguage();
  const names = (version.changed ?? []).map((name) => labelOf(fieldAt(fields, name) ?? { name }));
  const time = new Date(version.recordedAt).toLocaleTimeString(language, { timeStyle: 'short' });
  return (
    <button
      type="button"
      className={styles.version}
      aria-current={isSelected ? 'true' : undefined}
      onClick={() => open(version.version)}
    >
      <span className={styles.line}>
        <strong>{kindOf(version.type, history)}</strong>
        <time dateTime={version.recordedAt}>{time}</time>
      </span>
      <span className={styles.soft}>
        <ActorName actor={version.actor} />
        {names.length > 0 && ` · ${names.slice(0, most).join(', ')}${names.length > most ? ' …' : ''}`}
      </span>
      {version.reason && <q className={styles.reason}>{version.reason}</q>}
    </button>
  );
}

/** The kind of an event in words: `document.restored` is "Restored", `document.draft.updated` "Saved a draft". */
function kindOf(type: string, { kinds }: Words['history']): string {
  const [, part = '', ofDraft] = type.split('.');
  if (ofDraft === 'restored') return kinds.restoredDraft;
  const name = ofDraft === 'created' || ofDraft === 'updated' ? 'savedDraft' : (ofDraft ?? part);
  return name in kinds ? kinds[name as keyof typeof kinds] : kinds.other;
}

function dayOf(day: Date, words: Words['history'], language: string): string {
  const today = new Date(new Date().toDateString());
  const days = Math.round((today.getTime() - day.getTime()) / 86_400_000);
  if (days === 0) return words.today;
  return days === 1 ? words.yesterday : day.toLocaleDateString(language, { dateStyle: 'long' });
}

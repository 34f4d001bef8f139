import { Badge, Button } from '@mantine/core';
import type { Session } from '../../../client/index.ts';
import { useWords } from '../words/index.ts';
import { panelStyles } from './panel.tsx';
import { Ago } from './times.tsx';

/** The open sessions of an account, each of which can be ended. */
export function Sessions({ sessions, end }: { sessions: Session[]; end: (session: Session) => void }) {
  const { people } = useWords();
  if (sessions.length === 0) return <p className={panelStyles.empty}>{people.noSessions}</p>;
  return (
    <ul className={panelStyles.rows}>
      {sessions.map((session) => (
        <li key={session.sid}>
          <div className={panelStyles.main}>
            {browserOf(session.userAgent) ?? people.unknownPlace}{' '}
            {session.isCurrent && <Badge variant="light">{people.thisSession}</Badge>}
            <div className={panelStyles.soft}>
              {session.ip ?? people.unknownPlace} · {people.started} <Ago moment={session.startedAt} />
            </div>
          </div>
          {!session.isCurrent && (
            <Button variant="default" size="compact-sm" onClick={() => end(session)}>
              {people.endSession}
            </Button>
          )}
        </li>
      ))}
    </ul>
  );
}

const browsers = [
  ['Edg/', 'Edge'],
  ['OPR/', 'Opera'],
  ['Firefox/', 'Firefox'],
  ['Chrome/', 'Chrome'],
  ['Safari/', 'Safari'],
  ['curl/', 'curl'],
] as const;

const systems = [
  ['Android', 'Android'],
  ['iPhone', 'iOS'],
  ['iPad', 'iPadOS'],
  ['Windows', 'Windows'],
  ['Mac OS', 'macOS'],
  ['Linux', 'Linux'],
] as const;

/** The browser and system that a user agent names: "Firefox, Windows"; else its first words. */
function browserOf(userAgent: string | null): string | null {
  if (userAgent === null) return null;
  const find = (names: readonly (readonly [string, string])[]) => names.find(([sign]) => userAgent.includes(sign))?.[1];
  return [find(browsers), find(systems)].filter(Boolean).join(', ') || userAgent.slice(0, 60);
}

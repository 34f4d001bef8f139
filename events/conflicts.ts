import type { Change, Claim, Command, Outcome } from './log.ts';

/** The state of a log that conflicts are with. */
type Known = { versionOf: (stream: string) => number; conflictOver: (claims: readonly Claim[]) => Outcome | null };

/** The first conflict of a command whose stream has a version before it; null for none. */
export function conflictOf(command: Command, before: number, known: Known): Outcome | null {
  if (isStale(command.expectedVersion, before)) return { ok: false, conflict: 'version', version: before };
  // Most commands are about one stream alone, and are spared what several need.
  return command.otherStreams?.length
    ? conflictAmong([command, ...command.otherStreams], known)
    : known.conflictOver(command.claims);
}

/** Of several changes, each finds those before it: their events count, and their values are taken. */
function conflictAmong(changes: readonly Change[], { versionOf, conflictOver }: Known): Outcome | null {
  const versions = new Map<string, number>();
  for (const { stream, expectedVersion, events } of changes) {
    const version = versions.get(stream) ?? versionOf(stream);
    if (isStale(expectedVersion, version)) return { ok: false, conflict: 'version', version };
    versions.set(stream, version + events.length);
  }
  return conflictOver(changes.flatMap(({ claims }) => claims));
}

function isStale(expectedVersion: number | null, version: number): boolean {
  return expectedVersion !== null && expectedVersion !== version;
}

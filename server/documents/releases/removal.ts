import type { Change } from '../../../events/facts/log.ts';
import { decideReleaseRemoval, type ReleaseSubject } from '../../../events/facts/releases.ts';
import type { App } from '../../app.ts';

/** The changes that take documents out of the releases that are still to come: to be recorded with their end. */
export function releaseRemovals({ releases }: Pick<App, 'releases'>, subjects: readonly ReleaseSubject[]): Change[] {
  const found = new Map<string, { version: number; subjects: ReleaseSubject[] }>();
  for (const subject of subjects) {
    for (const { id, version } of releases.livingWith(subject)) {
      const entry = found.get(id) ?? { version, subjects: [] };
      entry.subjects.push(subject);
      found.set(id, entry);
    }
  }
  return [...found].map(([id, { version, subjects }]) => decideReleaseRemoval(id, version, subjects));
}

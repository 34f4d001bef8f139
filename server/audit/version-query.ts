import { invalidField } from '../../config/errors.ts';
import { count, type Values } from '../queries/parameters.ts';

/** The query of a diff. */
export const diffParameters = {
  from: count({ least: 0 }, 'A version; 0 is before there was anything. By default the one before `to`.'),
  to: count({ least: 0 }, 'A version, by default the newest.'),
};

/** The query of a blame. */
export const blameParameters = {
  version: count({ least: 1 }, 'The version that is asked about, by default the newest.'),
};

/**
 * The versions that a diff is between. Without `to` it is the newest, without `from` the one before `to`.
 *
 * @throws DomainError `invalid` for versions that there are not.
 */
export function versionRange(
  { from, to }: Values<typeof diffParameters>,
  newest: number,
): { from: number; to: number } {
  const last = within(to ?? newest, 'to', newest);
  return { from: within(from ?? Math.max(last - 1, 0), 'from', newest), to: last };
}

/** The version that a blame is about, the newest if none is named; throws as {@link versionRange} does. */
export function versionOf({ version }: Values<typeof blameParameters>, newest: number): number {
  return within(version ?? newest, 'version', newest);
}

function within(version: number, name: string, newest: number): number {
  if (version <= newest) return version;
  throw invalidField(name, `must be at most ${newest}, the newest version, got ${version}`);
}

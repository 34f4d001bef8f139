import { invalidField } from '../../config/errors.ts';
import { readOnly, readWhole } from '../queries/query.ts';

/**
 * Reads the versions that a diff is between, `from` and `to`. Without `to` it is the newest, without `from` the one before `to`.
 *
 * @returns a function of the newest version there is, for what may not be told before that is known.
 * @throws DomainError `invalid`, as the function does.
 */
export function readVersionRange(query: Record<string, unknown>): (newest: number) => { from: number; to: number } {
  readOnly(query, ['from', 'to']);
  const from = query.from === undefined ? null : readWhole(query.from, 'from', 0);
  const to = query.to === undefined ? null : readWhole(query.to, 'to', 0);
  return (newest) => {
    const last = within(to ?? newest, 'to', newest);
    return { from: within(from ?? Math.max(last - 1, 0), 'from', newest), to: last };
  };
}

/** Reads the version that something is asked about, the newest if none is named; as {@link readVersionRange}. */
export function readVersionQuery(query: Record<string, unknown>): (newest: number) => number {
  readOnly(query, ['version']);
  const version = query.version === undefined ? null : readWhole(query.version, 'version', 1);
  return (newest) => within(version ?? newest, 'version', newest);
}

function within(version: number, name: string, newest: number): number {
  if (version <= newest) return version;
  throw invalidField(name, `must be at most ${newest}, the newest version, got ${version}`);
}

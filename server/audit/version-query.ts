import { DomainError } from '../../config/errors.ts';
import { show } from '../../config/suggest.ts';
import { readOnly } from '../query.ts';

/**
 * Reads the versions that a diff is between, `from` and `to`. Without `to` it is the newest, without `from` the one before `to`.
 *
 * @returns a function of the newest version there is, for what may not be told before that is known.
 * @throws DomainError `invalid`, as the function does.
 */
export function readVersionRange(query: Record<string, unknown>): (newest: number) => { from: number; to: number } {
  readOnly(query, ['from', 'to']);
  const from = query.from === undefined ? null : versionIn(query.from, 'from', 0);
  const to = query.to === undefined ? null : versionIn(query.to, 'to', 0);
  return (newest) => {
    const last = within(to ?? newest, 'to', newest);
    return { from: within(from ?? Math.max(last - 1, 0), 'from', newest), to: last };
  };
}

/** Reads the version that something is asked about, the newest if none is named; as {@link readVersionRange}. */
export function readVersionQuery(query: Record<string, unknown>): (newest: number) => number {
  readOnly(query, ['version']);
  const version = query.version === undefined ? null : versionIn(query.version, 'version', 1);
  return (newest) => within(version ?? newest, 'version', newest);
}

/** Reads a version. @throws DomainError `invalid` when it is none. */
export function versionIn(text: unknown, name: string, least: number): number {
  const version = Number(text);
  if (typeof text === 'string' && /^\d+$/.test(text) && Number.isSafeInteger(version) && version >= least)
    return version;
  const came = Array.isArray(text) ? `${text.length} values` : show(text);
  throw refusal(name, `must be one whole number from ${least}, got ${came}`);
}

function within(version: number, name: string, newest: number): number {
  if (version <= newest) return version;
  throw refusal(name, `must be at most ${newest}, the newest version, got ${version}`);
}

function refusal(field: string, problem: string): DomainError {
  const message = `${field} ${problem}`;
  return new DomainError('invalid', message, [{ field, message }]);
}

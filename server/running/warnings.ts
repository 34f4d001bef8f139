import type { Logger } from 'pino';
import type { Model } from '../../config/model.ts';
import type { Settings } from '../settings/settings.ts';

/** The number of bytes in the signature of a token (RFC 7518, section 3.2). */
export const safeLength = 32;

/**
 * Warns of a configuration in one line, so that its warnings do not hide the addresses of the service. A command prints
 * all of them if the configuration is a file.
 *
 * @param loaded `path` is null for a configuration that is an object.
 */
export function warnOfConfiguration(
  log: Logger,
  settings: Settings,
  loaded: { model: Pick<Model, 'warnings'>; path: string | null },
): void {
  const { warnings } = loaded.model;
  const { length } = warnings;
  const told = `${length} warnings about the configuration`;
  if (length === 0) return;
  if (length === 1) log.warn(`1 warning about the configuration: ${warnings[0]}`);
  else if (loaded.path === null) log.warn({ warnings }, told);
  else log.warn(`${told}: "${checkCommand(settings)}" prints them`);
}

export function warnOfSecrets(log: Logger, { secrets }: Settings): void {
  if (secrets.some(({ length }) => length < safeLength))
    log.warn(`a secret is shorter than ${safeLength} characters: anyone who guesses it can forge tokens`);
}

/**
 * `found`: events in the log at the start; `unsigned`: the events after the last checkpoint that a key of the vault
 * signed.
 */
type UnsignedEvents = { found: number; unsigned: number; upgradedFrom: number | null };

/** Warns of events at the end of a log that no checkpoint has signed. */
export function warnOfUnsigned(log: Logger, { found, unsigned, upgradedFrom }: UnsignedEvents): void {
  if (unsigned === 0) return;
  const which =
    unsigned === 1 ? `1 event, ${found}, follows` : `${unsigned} events, ${found - unsigned + 1} to ${found}, follow`;
  const why =
    upgradedFrom === null || upgradedFrom > 2
      ? ''
      : `: log.db had format ${upgradedFrom}, where nothing says who wrote them`;
  log.warn(`${which} the last checkpoint that a key of vault.db signed${why}`);
}

function checkCommand({ config, site }: Settings): string {
  if (site !== null) return `annals config check --site ${site}`;
  return `annals config check${config === undefined ? '' : ` --config ${config}`}`;
}

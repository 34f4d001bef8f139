import { auditStream } from '../facts/catalogue.ts';
import { type Change, changeOf } from '../facts/log.ts';
import type { LogReader } from '../log/log-reader.ts';

/**
 * A log that an operator took as it was, with the writes of others: the first `to` events, of which keys of this vault
 * had signed the first `from`; null where they had signed none.
 */
export type Acceptance = { from: number | null; to: number };

/** Such an acceptance as the log tells of it. */
export type AcceptanceEvent = Acceptance & { position: number; recordedAt: string; reason: string };

/** The event of one; the reason goes into the context of its command. It is true whatever came before it. */
export function decideAcceptance({ from, to }: Acceptance): Change {
  return changeOf(auditStream, [{ type: 'log.writes.accepted', data: { from, to } }]);
}

/** The acceptances in a log, oldest first. An event that does not say what was accepted is passed over. */
export function readAcceptances(log: Pick<LogReader, 'stream'>): AcceptanceEvent[] {
  return log.stream(auditStream).flatMap(({ header: { type, position, recordedAt }, data, context }) => {
    const { from, to } = data ?? {};
    if (type !== 'log.writes.accepted' || typeof to !== 'number') return [];
    return [{ from: typeof from === 'number' ? from : null, to, position, recordedAt, reason: context?.reason ?? '' }];
  });
}

/** Describes them, a line each. */
export function tellAcceptances(log: Pick<LogReader, 'stream'>): string[] {
  return readAcceptances(log).map(
    ({ from, to, position, reason }) =>
      `event ${position} takes the log as it was, which vault.db had not sealed: it had signed ${from ?? 0} of ${to} events; ${reason}`,
  );
}

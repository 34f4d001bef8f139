import { auditStream } from '../facts/catalogue.ts';
import { type Change, changeOf } from '../facts/log.ts';
import type { LogReader } from '../log/log-reader.ts';

/**
 * The part of a log that an operator accepted with the writes of others: the first `to` events. Keys of this vault had
 * signed the first `from`; null: none.
 */
export type Acceptance = { from: number | null; to: number };

/** An acceptance as the log has recorded it. */
type AcceptanceEvent = Acceptance & { position: number; recordedAt: string; reason: string };

/** The event of an acceptance; its command has the reason in its context. The event is true whatever came before it. */
export function decideAcceptance({ from, to }: Acceptance): Change {
  return changeOf(auditStream, [{ type: 'log.writes.accepted', data: { from, to } }]);
}

/** The acceptances in a log, oldest first. An event that does not say what was accepted is left out. */
export function readAcceptances(log: Pick<LogReader, 'stream'>): AcceptanceEvent[] {
  return log.stream(auditStream).flatMap(({ header: { type, position, recordedAt }, data, context }) => {
    const { from, to } = data ?? {};
    if (type !== 'log.writes.accepted' || typeof to !== 'number') return [];
    return [{ from: typeof from === 'number' ? from : null, to, position, recordedAt, reason: context?.reason ?? '' }];
  });
}

/** Describes the acceptances in a log, one line each. */
export function tellAcceptances(log: Pick<LogReader, 'stream'>): string[] {
  return readAcceptances(log).map(
    ({ from, to, position, reason }) =>
      `event ${position} takes the log as it was, which vault.db had not sealed: it had signed ${from ?? 0} of ${to} events; ${reason}`,
  );
}

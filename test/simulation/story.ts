import { schemaStream } from '../../events/facts/catalogue.ts';
import { foldDocument } from '../../events/facts/documents.ts';
import { headerOf, payloadOf } from '../../events/facts/envelope.ts';
import type { Command, Outcome } from '../../events/facts/log.ts';
import type { EventText } from '../../events/log/event-checks.ts';
import { DiskError } from './disk-state.ts';
import { type Planned, planBatch, type Target, type Told } from './plans.ts';

/** An event of which it was said that it is recorded. `body`: null once it is erased. */
type Kept = { header: string; body: string | null; stream: string };

/** A recorded erasure, and the mark of the erased document. */
export type Erased = { position: number; mark: string; isDone: boolean };

/** Thrown if the log, or another file, differs from what was acknowledged. */
export class BrokenPromise extends Error {
  override name = 'BrokenPromise';
}

export type Story = ReturnType<typeof beginStory>;

/** The acts of a run, and the answers that it got: the state that every start has to find. */
export function beginStory(random: () => number, now: () => number) {
  const documents: Told[] = [];
  const kept: Kept[] = [];
  const erased: Erased[] = [];
  /** A batch of which it is not known whether it was recorded. */
  let open: Planned[] = [];

  /** Takes the events of the open batch for recorded. @throws BrokenPromise if others were found. */
  function settle(found: readonly EventText[]): void {
    const accepted = open.filter(({ outcome }) => outcome === 'ok').map(({ command }) => command);
    if (found.length !== accepted.length)
      throw new BrokenPromise(`${found.length} of ${accepted.length} events of a batch are there`);
    for (const [index, { header, body }] of found.entries()) {
      const { stream, events } = accepted[index] as Command;
      const { type, version, position } = headerOf(header);
      const told = documents.find((one) => one.stream === stream) as Told;
      const data = payloadOf(body)?.data;
      const isSame = headerOf(header).stream === stream && type === events[0]?.type && version === told.version + 1;
      if (!isSame || JSON.stringify(data) !== JSON.stringify(events[0]?.data) || position !== kept.length + 1)
        throw new BrokenPromise(`event ${position} is not the one that was recorded: ${header}`);
      if (type === 'document.erased') forget(told, position);
      kept.push({ header, body, stream });
      told.version = version;
      told.document = foldDocument(told.document, type, events[0]?.data ?? {});
    }
    open = [];
  }

  function forget({ stream, mark }: Told, position: number): void {
    for (const event of kept) if (event.stream === stream) event.body = null;
    erased.push({ position, mark, isDone: false });
  }

  return {
    documents,
    erased,
    /** Plans the next batch, which is open from here on. */
    plan(target: Target, wantsErasure: boolean): Command[] {
      const marks = new Set(erased.map(({ mark }) => mark));
      open = planBatch({ random, now, documents, erased: marks }, target, wantsErasure);
      return open.map(({ command }) => command);
    },
    size: () => kept.length,
    /** Takes the answer to a batch. @param found the events that were recorded by it. */
    answered(outcomes: readonly (Outcome | Error)[], found: readonly EventText[]): void {
      for (const [index, planned] of open.entries()) {
        const outcome = outcomes[index];
        if (outcome instanceof DiskError) planned.outcome = 'failed';
        else if (outcome instanceof Error)
          throw new BrokenPromise(`a command was refused: ${outcome.message}`, { cause: outcome });
        const is = outcome instanceof Error ? 'failed' : outcome?.ok ? 'ok' : outcome?.conflict;
        if (is !== planned.outcome) throw new BrokenPromise(`a command got ${is}, and not ${planned.outcome}`);
      }
      settle(found);
    },
    /** The open batch was refused, so nothing of it may be there. */
    refused: (): void => {
      open = [];
    },
    /**
     * Compares what a start finds with what was said. A batch that was open is there as a whole by now, or not at all.
     */
    compare(found: readonly EventText[]): void {
      if (found.length < kept.length)
        throw new BrokenPromise(`${kept.length} events were recorded, ${found.length} are there`);
      const more = found.slice(kept.length);
      const own = more.filter(({ header }) => headerOf(header).stream === schemaStream);
      const rest = more.filter((event) => !own.includes(event));
      // An erasure may have failed by itself, because it reads segments: its answer was lost with that of the batch.
      const [first] = open;
      const planned = open.filter(({ outcome }) => outcome === 'ok').length;
      if (first?.command.erases && rest.length === planned - 1) first.outcome = 'failed';
      if (rest.length > 0) settle(rest);
      open = [];
      if (own.length > 0 && kept.length > 0) throw new BrokenPromise('the schema was recorded once more');
      for (const { header, body } of own) kept.push({ header, body, stream: schemaStream });
      for (const [index, { header, body }] of kept.entries())
        if (header !== found[index]?.header || body !== found[index]?.body)
          throw new BrokenPromise(`event ${index + 1} is not as it was recorded: ${header} ${body}`);
    },
  };
}

import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import type { Command, RecordedEvent } from '../../events/facts/log.ts';
import type { CheckpointChange } from '../../events/proof/checkpoints.ts';
import { fetchFrames } from '../../events/segments/fetching.ts';
import type { OffloadedFrame } from '../../events/segments/offloaded.ts';
import { jumpMilliseconds } from '../../events/store/clock.ts';
import { schemaCommand } from '../../projections/start/boot.ts';
import { catchUp } from '../../projections/start/rebuild.ts';
import type { Declared } from '../../projections/tables/epochs.ts';
import { messageOf } from '../../storage/errors.ts';
import { batchBounds, syncBounds } from '../platform/meter.ts';
import { setFull } from '../platform/state.ts';
import { tallyUp } from '../platform/tally.ts';
import { openCleaning } from './cleaning.ts';
import type { WriterAnswer, WriterAnswers, WriterOrder, WriterRequests } from './messages.ts';
import { notify } from './search-cell.ts';
import { keepSegments } from './segment-keeping.ts';
import { internal, type Queued, refusalsOf, type Started, type ThreadParts } from './thread-parts.ts';

/** Takes commands and orders, for a log that is this service's alone: all of a turn is done before another begins. */
export function openStandaloneWriter({ log, projector, scrubber }: Started, parts: ThreadParts): void {
  const { main, say, clock, ids, meter, state, sealing } = parts;
  let queue: Queued[] = [];
  const senders = new Map<MessagePort, number | null>();
  let generation = 0;
  /** Commands of the next generation. */
  let held: Queued[] = [];
  const adopting: Extract<WriterOrder, { kind: 'adopt' }>[] = [];
  /** To be recorded before anything else. */
  let declared: Declared | null = null;
  let settling = 0;
  let isScheduled = false;
  let isClosing = false;
  let tellSearch: (() => void) | null = null;
  const { failure, failsOnly } = refusalsOf(state);
  const cleaning = openCleaning({
    scrubber,
    isSearchKept: () => tellSearch !== null,
    onProgress: (progress) => say({ kind: 'cleaning', ...progress }),
    onEnd: (scrubbed) => say({ kind: 'scrubbed', scrubbed }),
  });
  const segments = keepSegments(log, {
    sizes: sealing,
    onDue: () => say({ kind: 'segment-due' }),
    onFailure: failsOnly,
  });

  main.on('message', (order: WriterOrder) => {
    if (order.kind === 'connect') {
      listenTo(order.port, order.generation);
      return;
    }
    if (order.kind === 'search') {
      const { port, cell } = order;
      tellSearch = () => {
        if (notify(cell)) port.postMessage(null);
      };
      return;
    }
    if (order.kind === 'checkpoint') {
      say({ kind: 'kept', isKept: keep(order.change) });
      return;
    }
    if (order.kind === 'scrub') {
      cleaning.take(order.remaining);
      return;
    }
    if (order.kind === 'segment') {
      say({ kind: 'segment', ...segments.keep(order.pending) });
      return;
    }
    // Only a node follows another log.
    if (order.kind === 'following') return;
    if (order.kind === 'close') isClosing = true;
    else if (order.kind === 'adopt') {
      takeWhatCame();
      adopting.push(order);
    } else {
      takeWhatCame();
      settling += 1;
    }
    schedule();
  });

  /** Between turns there is no transaction that this could become a part of. */
  function keep(change: CheckpointChange): boolean {
    try {
      log.keepCheckpoint(change);
      return true;
    } catch (error) {
      failure(error, 'full');
      return false;
    }
  }

  function listenTo(from: MessagePort, works: number | null): void {
    senders.set(from, works);
    from.on('message', (requests: WriterRequests) => take(from, requests));
    from.on('close', () => senders.delete(from));
  }

  /** Between ports there is no order: a command sent before this by another thread may not have been read. */
  function takeWhatCame(): void {
    for (const from of senders.keys()) {
      for (let came = receiveMessageOnPort(from); came; came = receiveMessageOnPort(from)) take(from, came.message);
    }
  }

  function take(from: MessagePort, requests: WriterRequests): void {
    const line = (senders.get(from) ?? generation) > generation ? held : queue;
    for (const { id, command } of requests) line.push({ from, id, command });
    schedule();
  }

  function schedule(): void {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(turn);
  }

  /** Group commit: all that came while the last batch was being synced is the next batch. */
  function turn(): void {
    isScheduled = false;
    const batch = queue;
    queue = [];
    if (batch.length > 0) {
      answerTo(batch);
      cleaning.noteBatch();
    }
    for (const order of adopting.splice(0)) adopt(order);
    for (; settling > 0; settling -= 1) say({ kind: 'settled' });
    if (!isClosing) return;
    cleaning.stop();
    segments.close();
    say({ kind: 'closed' });
    main.close();
  }

  function answerTo(batch: readonly Queued[]): void {
    const parsed = batch.map(({ from, id, command }) => ({ from, id, command: JSON.parse(command) as Command }));
    const [late = [], current = []] = [true, false].map((isLate) => parsed.filter((one) => isFormer(one) === isLate));
    const answers = current.length > 0 ? write(current.map(({ command }) => command)) : [];
    const all = [
      ...current.flatMap(({ from, id, command }, index) => {
        const answer = answers[index] as WriterAnswer;
        if (!('missing' in answer) || !answer.missing) return [{ from, id, answer }];
        fetchFor({ from, id, command: JSON.stringify(command) }, answer.missing);
        return [];
      }),
      ...late.map(({ from, id }) => ({ from, id, answer: { ok: false, failure: 'former', message: '' } as const })),
    ];
    for (const [from, its] of Map.groupBy(all, ({ from }) => from))
      from.postMessage(its.map(({ id, answer }) => ({ id, answer })));
  }

  /** An erasure needs the payloads that it takes: it has its turn again when they are here, and writes go on. */
  function fetchFor(queued: Queued, missing: readonly OffloadedFrame[]): void {
    fetchFrames(missing).then(
      () => take(queued.from, [queued]),
      (error) => {
        const answer = { ok: false, failure: 'offloaded', message: messageOf(error) } as const;
        queued.from.postMessage([{ id: queued.id, answer }] satisfies WriterAnswers);
      },
    );
  }

  /** The log names the rule that admitted a command: it must be the one of the schema before it. */
  function isFormer({ from, command }: { from: MessagePort; command: Command }): boolean {
    return (senders.get(from) ?? generation) < generation && command.context.rule !== undefined;
  }

  function adopt(order: Extract<WriterOrder, { kind: 'adopt' }>): void {
    generation = order.generation;
    declared = order.declared ?? declared;
    say({ kind: 'adopted', isRecorded: recordDeclared() });
    queue.push(...held);
    held = [];
    if (queue.length > 0) schedule();
  }

  /** False where there is no room for it, or no time. */
  function recordDeclared(): boolean {
    if (!declared) return true;
    if (clock.lead() > jumpMilliseconds) return false;
    try {
      const { outcomes, recorded } = log.append([schemaCommand(log, { ...declared, ids })]);
      for (const outcome of outcomes) if (outcome instanceof Error) throw outcome;
      declared = null;
      projector.apply(recorded, log.head().root);
    } catch (error) {
      failure(error, 'full');
    }
    return declared === null;
  }

  function write(commands: Command[]): WriterAnswer[] {
    const { head } = log;
    if (clock.lead() > jumpMilliseconds) return commands.map(() => ({ ok: false, failure: 'clock', message: '' }));
    if (!recordDeclared()) return commands.map(() => ({ ok: false, failure: 'full', message: '' }));
    try {
      // Left behind by a full disk: events recorded before are made readable first.
      if ((projector.checkpoint()?.position ?? 0) < head().size) catchUp(projector, { log });
    } catch (error) {
      return commands.map(() => failure(error, 'full'));
    }
    let recorded: RecordedEvent[] = [];
    let outcomes: WriterAnswer[];
    try {
      const result = log.append(commands);
      tallyUp(meter.batch, batchBounds, commands.length);
      tallyUp(meter.sync, syncBounds, log.commitMilliseconds() / 1000);
      recorded = result.recorded;
      outcomes = result.outcomes.map((outcome) => (outcome instanceof Error ? internal(outcome) : outcome));
    } catch (error) {
      return commands.map(() => failure(error, 'full'));
    }
    try {
      projector.apply(recorded, head().root);
    } catch (error) {
      return outcomes.map((outcome) => (outcome.ok ? failure(error, 'unread') : outcome));
    }
    if (recorded.length > 0) {
      setFull(state, false);
      tellSearch?.();
      segments.look();
    }
    return outcomes;
  }
}

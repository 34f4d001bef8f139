import { type MessagePort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { type AwayFrame, SegmentAwayError } from '../../events/away.ts';
import type { CheckpointChange } from '../../events/checkpoints.ts';
import { createClock, jumpMilliseconds } from '../../events/clock.ts';
import { bringHere } from '../../events/fetching.ts';
import { createIds } from '../../events/ids.ts';
import type { Command, Outcome, RecordedEvent } from '../../events/log.ts';
import type { Draft, SealingSizes } from '../../events/sealing.ts';
import { type Booted, type BootOptions, boot, schemaCommand } from '../../projections/boot.ts';
import type { Declared } from '../../projections/epochs.ts';
import { logFile } from '../../projections/files.ts';
import { catchUp } from '../../projections/rebuild.ts';
import { openScrubber, type Remaining, type Scrubbed, type Scrubber } from '../../projections/scrub.ts';
import { searchFileOf } from '../../projections/search-tables.ts';
import type { BlobSettings } from '../../storage/blobs.ts';
import { errorOf, messageOf } from '../../storage/errors.ts';
import { isDiskFull } from '../../storage/sqlite.ts';
import { advised } from '../platform/advice.ts';
import { batchBounds, syncBounds, type WriterMeter } from '../platform/meter.ts';
import { parent } from '../platform/parent.ts';
import { stepBack } from '../platform/priority.ts';
import { giveBackAtRest } from '../platform/rest.ts';
import { type StateCell, setFull } from '../platform/state.ts';
import { tallyUp } from '../platform/tally.ts';
import { findSegmentsOf } from './away.ts';
import { openCleaning, type Progress } from './cleaning.ts';
import { openHelpers } from './helpers.ts';
import { poke, type SearchCell } from './search-cell.ts';
import { keepSegments } from './segment-keeping.ts';

/** The start data of the writer thread: the cells of ids and of the clock, and the options of a boot that can be sent. */
export type WriterInput = Required<
  Pick<BootOptions, 'directory' | 'schema' | 'rules' | 'logId' | 'signed' | 'seals' | 'isStrict' | 'acceptsClock'>
> & {
  counter: BigInt64Array<SharedArrayBuffer>;
  clockCell: BigInt64Array<SharedArrayBuffer>;
  meter: WriterMeter;
  /** Is told when there is no room for a write, and when there is. */
  state: StateCell;
  /** When a segment is due; null for one that seals nothing. */
  sealing: SealingSizes | null;
  /** Where segments are that are not here. */
  blobs: BlobSettings;
};

/** Commands on their way to the writer: the JSON text is cheaper to send than the object. */
export type WriterRequests = { id: number; command: string }[];

/** The outcomes of commands. */
export type WriterAnswers = { id: number; answer: WriterAnswer }[];

/**
 * Orders of the main thread. `connect`: to take the commands of a thread that works by a generation of the configuration; null for
 * those that no rule admits. Commands of a later generation wait. `adopt`: from now on commands are those of this generation, whose
 * schema and rules are recorded before them; null where the log has them. `settle`: to say when all commands sent before are done. `scrub`: to clear files of erased bytes. `segment`: to make a segment of a
 * draft. */
export type WriterOrder =
  | { kind: 'connect'; port: MessagePort; generation: number | null }
  | { kind: 'adopt'; generation: number; declared: Declared | null }
  | { kind: 'settle' }
  /** To say there, and note in the cell, that the read tables have something new. */
  | { kind: 'poke'; pokes: MessagePort; cell: SearchCell }
  | { kind: 'checkpoint'; change: CheckpointChange }
  | { kind: 'scrub'; remaining: Remaining[] }
  | { kind: 'segment'; draft: Draft }
  | { kind: 'close' };

/** Messages to the main thread. `changes`: those that a new schema makes to documents. `refused`: why it did not start. */
export type WriterMessage =
  | { kind: 'progress'; done: number; total: number }
  | { kind: 'changes'; lines: readonly string[] }
  | { kind: 'sealed'; log: string }
  /** `log` is its id, `size` its number of events by now. */
  | ({ kind: 'ready'; log: string; size: number } & Pick<Booted, 'readFile' | 'found' | 'upgradedFrom'>)
  | { kind: 'refused'; message: string }
  | { kind: 'settled' }
  /** False: there was no room. */
  | { kind: 'kept'; isKept: boolean }
  | ({ kind: 'cleaning' } & Progress)
  | { kind: 'scrubbed'; scrubbed: Scrubbed }
  /** There are enough events for a segment. */
  | { kind: 'sealable' }
  /** False: the draft has been overtaken, or there was no room. */
  | { kind: 'segment'; isKept: boolean }
  /** False: there was no room yet, and the next write tries again. */
  | { kind: 'adopted'; isRecorded: boolean }
  | { kind: 'closed' };

/**
 * `clock`: it has jumped, nothing was recorded. `full`: there was no room, nothing was recorded. `unread`: recorded, but the read
 * tables have no room for it. `away`: it needs a segment that could not be fetched, nothing was recorded. `former`: a rule admitted it that is not in force any more, nothing was recorded.
 */
export type WriterAnswer =
  | Outcome
  | {
      ok: false;
      failure: 'clock' | 'full' | 'unread' | 'away' | 'former' | 'internal';
      message: string;
      missing?: readonly AwayFrame[];
    };

const main = parent();
const { counter, clockCell, meter, state, sealing, blobs, ...options }: WriterInput = workerData;
const clock = createClock(clockCell);
const ids = createIds(counter, clock.believed);

function say(message: WriterMessage): void {
  main.postMessage(message);
}

type Started = Booted & { scrubber: Scrubber };

/** A command in the queue. */
type Queued = { from: MessagePort; id: number; command: string };

function start(): Started | null {
  const file = logFile(options.directory);
  try {
    findSegmentsOf(file, blobs, true);
    const booted = boot({
      ...options,
      ids,
      now: clock.believed,
      onChanges: (lines) => say({ kind: 'changes', lines }),
      onSealed: (log) => say({ kind: 'sealed', log }),
      progress: (done, total) => say({ kind: 'progress', done, total }),
      helpers: openHelpers(),
    });
    // From here on writes would wait.
    findSegmentsOf(file, blobs, false);
    const { directory, schema } = options;
    const searchFile = searchFileOf(booted.readFile, schema);
    const { databases, log } = booted;
    const scrubber = openScrubber({ directory, databases, searchFile, log });
    // Finishes erasures of a killed process before any reader opens the files; those in other stores are for the main thread.
    scrubber.scrub([]);
    const { readFile, found, upgradedFrom } = booted;
    const head = log.head();
    say({ kind: 'ready', readFile, log: head.log, size: head.size, found, upgradedFrom });
    return { ...booted, scrubber };
  } catch (error) {
    say({ kind: 'refused', message: advised(errorOf(error)) });
    return null;
  }
}

function serve({ log, projector, scrubber }: Started): void {
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
  const cleaning = openCleaning({
    scrubber,
    isSearchKept: () => tellSearch !== null,
    onProgress: (progress) => say({ kind: 'cleaning', ...progress }),
    onEnd: (scrubbed) => say({ kind: 'scrubbed', scrubbed }),
  });
  const segments = keepSegments(log, { sizes: sealing, onDue: () => say({ kind: 'sealable' }), onFailure: failsOnly });

  main.on('message', (order: WriterOrder) => {
    if (order.kind === 'connect') {
      listenTo(order.port, order.generation);
      return;
    }
    if (order.kind === 'poke') {
      const { pokes, cell } = order;
      tellSearch = () => {
        if (poke(cell)) pokes.postMessage(null);
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
      say({ kind: 'segment', isKept: segments.keep(order.draft) });
      return;
    }
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
  function fetchFor(queued: Queued, missing: readonly AwayFrame[]): void {
    bringHere(missing).then(
      () => take(queued.from, [queued]),
      (error) => {
        const answer = { ok: false, failure: 'away', message: messageOf(error) } as const;
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

/** @throws unless there was no room. */
function failsOnly(error: unknown): void {
  failure(error, 'full');
}

function internal(error: Error): WriterAnswer {
  const { message } = error;
  if (error instanceof SegmentAwayError) return { ok: false, failure: 'away', message, missing: error.missing };
  return { ok: false, failure: 'internal', message };
}

/** No room is answered and may pass. Anything else, a failed fsync first of all, leaves no state to trust: stop. */
function failure(error: unknown, kind: 'full' | 'unread') {
  if (!isDiskFull(error)) throw error;
  setFull(state, true);
  return { ok: false, failure: kind, message: messageOf(error) } as const;
}

const booted = start();
if (booted) {
  // Where the cores are too few for all, reads go first: a write waits for the disk anyway.
  stepBack(5);
  giveBackAtRest();
  serve(booted);
}

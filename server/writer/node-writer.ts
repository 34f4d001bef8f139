import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { idempotencyMilliseconds } from '../../events/facts/idempotency.ts';
import type { Command, RecordedEvent } from '../../events/facts/log.ts';
import { OutdatedError } from '../../events/replica/outdated.ts';
import { SharedLogUnavailableError } from '../../events/replica/shared-log.ts';
import { openFollower } from '../../events/replica/shared-reads.ts';
import { openSharedWriter, page } from '../../events/replica/shared-writer.ts';
import { jumpMilliseconds } from '../../events/store/clock.ts';
import type { RowMarks } from '../../projections/tables/row-marks.ts';
import { messageOf } from '../../storage/errors.ts';
import { isDiskFull } from '../../storage/sqlite.ts';
import { answerCalls } from '../platform/calls.ts';
import { batchBounds } from '../platform/meter.ts';
import { setBehind, setFull } from '../platform/state.ts';
import { tallyUp } from '../platform/tally.ts';
import { type Configured, openApplying } from './applying.ts';
import { openCleaning } from './cleaning.ts';
import type { Node } from './joining.ts';
import { scrubbedOf } from './membership.ts';
import type { Following, WriterAnswer, WriterAnswers, WriterOrder, WriterRequests } from './messages.ts';
import { kindOf, openTelling, told, undecided } from './outages.ts';
import { openReadTables } from './read-tables.ts';
import { openAgreement } from './schema-agreement.ts';
import { notify } from './search-cell.ts';
import { keepSegments } from './segment-keeping.ts';
import { internal, type Queued, refusalsOf, type Started, type ThreadParts } from './thread-parts.ts';

/** The same, and the configuration of a node. `appliesSchema`: it applies that without being told. */
export type NodeParts = ThreadParts & { configured: Configured; appliesSchema: boolean; marks: RowMarks };

/**
 * A write is refused when it could not be shipped for so many milliseconds; one that waited behind others is tried for
 * some all the same.
 */
const patience = { usual: 4500, least: 300 };
/** A node that has not come to the end of the log for so many milliseconds is behind. */
const behindMilliseconds = 10_000;
const lookMilliseconds = 1000;
const forgetMilliseconds = 10 * 60_000;

/**
 * Takes commands and orders, for a log that other nodes append to as well: turns wait for the shared log, and what else
 * writes to the replica is done between them.
 */
export function openNodeWriter({ scrubber, ...started }: Started, node: Node, parts: NodeParts): void {
  const { main, say, clock, meter, state, sealing, configured } = parts;
  const { log, isPending, readFile, databases } = started;
  const [, read] = databases;
  const { shared, membership } = node;
  const { failure, failsOnly } = refusalsOf(state);
  let queue: Queued[] = [];
  /** Since when the first of them waits. */
  let since = 0;
  const senders = new Set<MessagePort>();
  let settling = 0;
  let isTurning = false;
  let isClosing = false;
  let tellSearch: (() => void) | null = null;
  let lastLevel = performance.now();
  let levelAt = Date.now();

  const reading = openTelling(say, [
    'this node does not see what other nodes append',
    'this node sees again what other nodes append',
  ]);
  const writing = openTelling(say, ['writes are refused', 'writes go on']);
  const warn = (message: string) => say({ kind: 'warning', message });
  const agreement = openAgreement({ state, shared, declared: configured, isPending, warn });
  const { refuses } = agreement;
  const tables = openReadTables({
    started,
    schema: configured.schema,
    marks: parts.marks,
    onApplied: agreement.settle,
  });
  const readable = tables.position;
  const writer = openSharedWriter({
    replica: log,
    shared,
    clock: node.clock,
    apply,
    patience: patience.usual,
    refuses,
  });
  const follower = openFollower({ shared, reached: () => agreement.scanned() ?? readable(), follow, fail });
  const applying = openApplying({ log, read, readFile, configured, agreement, writer, readable });
  if (isPending) applying.begin({ state, isWanted: parts.appliesSchema, warn });
  const between = (run: () => void) => void writer.between(run).catch(fail);
  const cleaning = openCleaning({
    scrubber,
    isSearchKept: () => tellSearch !== null,
    onProgress: (progress) => say({ kind: 'cleaning', ...progress }),
    onEnd: (scrubbed) => say({ kind: 'scrubbed', scrubbed }),
    between,
  });
  const segments = keepSegments(log, {
    sizes: sealing,
    onDue: () => say({ kind: 'segment-due' }),
    onFailure: failsOnly,
    between,
  });
  const looking = setInterval(() => {
    if (performance.now() - lastLevel > behindMilliseconds) noteBehind('it has not come to their end for 10 seconds');
  }, lookMilliseconds);
  const forgetting = setInterval(() => {
    // It is only to save room: the next one tries again.
    shared.forgetAttempts(idempotencyMilliseconds).catch(() => {});
  }, forgetMilliseconds);

  membership.tell(() => ({ state: 'ready', applied: readable(), scrubbed: scrubbedOf(log), levelAt }));

  /** Nothing here can be trusted any more, or it is not the log that it was. */
  function fail(error: unknown): void {
    say({ kind: 'failed', message: messageOf(error) });
  }

  main.on('message', (order: WriterOrder) => {
    switch (order.kind) {
      case 'connect':
        listenTo(order.port);
        return;
      case 'following':
        answerCalls<Following>(order.port, following);
        return;
      case 'search':
        tellSearch = () => {
          if (notify(order.cell)) order.port.postMessage(null);
        };
        return;
      case 'checkpoint':
        between(() => say({ kind: 'kept', isKept: keep(() => log.keepCheckpoint(order.change)) }));
        return;
      case 'scrub':
        cleaning.take(order.remaining);
        return;
      case 'segment':
        between(() => say({ kind: 'segment', ...segments.keep(order.pending) }));
        return;
      case 'adopt':
        say({ kind: 'adopted', isRecorded: false });
        return;
      case 'settle':
        takeWhatCame();
        settling += 1;
        break;
      case 'close':
        isClosing = true;
    }
    schedule();
  });

  function keep(run: () => void): boolean {
    try {
      run();
      return true;
    } catch (error) {
      failsOnly(error);
      return false;
    }
  }

  const following: Following = {
    current: () => told(follower.current()),
    reach: (position) => told(follower.reach(position)),
    durable: () => told(writer.confirmed(), undecided),
    apply: applying.apply,
  };

  function listenTo(from: MessagePort): void {
    senders.add(from);
    from.on('message', (requests: WriterRequests) => take(from, requests));
    from.on('close', () => senders.delete(from));
  }

  /** Between ports there is no order: a command sent before this by another thread may not have been read. */
  function takeWhatCame(): void {
    for (const from of senders) {
      for (let came = receiveMessageOnPort(from); came; came = receiveMessageOnPort(from)) take(from, came.message);
    }
  }

  function take(from: MessagePort, requests: WriterRequests): void {
    if (queue.length === 0) since = performance.now();
    for (const { id, command } of requests) queue.push({ from, id, command });
    schedule();
  }

  function schedule(): void {
    if (isTurning) return;
    isTurning = true;
    setImmediate(() => turn().catch(fail));
  }

  /** Group commit: all that came while the last batch was shipped is the next batch. */
  async function turn(): Promise<void> {
    while (queue.length > 0) {
      const batch = queue;
      queue = [];
      await answerTo(batch, Math.max(patience.usual - (performance.now() - since), patience.least));
      cleaning.noteBatch();
    }
    for (; settling > 0; settling -= 1) say({ kind: 'settled' });
    if (isClosing) await close();
    isTurning = false;
  }

  async function close(): Promise<void> {
    clearInterval(looking);
    clearInterval(forgetting);
    applying.close();
    agreement.close();
    cleaning.stop();
    segments.close();
    await follower.close();
    await writer.close();
    await membership.leave();
    await shared.close();
    say({ kind: 'closed' });
    main.close();
  }

  async function answerTo(batch: readonly Queued[], within: number): Promise<void> {
    const commands = batch.map(({ command }) => JSON.parse(command) as Command);
    const answers = await write(commands, within);
    const all = batch.map(({ from, id }, index) => ({ from, id, answer: answers[index] as WriterAnswer }));
    for (const [from, its] of Map.groupBy(all, ({ from }) => from))
      from.postMessage(its.map(({ id, answer }) => ({ id, answer })) satisfies WriterAnswers);
  }

  async function write(commands: readonly Command[], within: number): Promise<WriterAnswer[]> {
    if (clock.lead() > jumpMilliseconds) return commands.map(() => ({ ok: false, failure: 'clock', message: '' }));
    if (!agreement.mayWrite()) return commands.map(() => ({ ok: false, failure: 'former', message: '' }));
    try {
      const { outcomes, recorded } = await writer.append(commands, within);
      tallyUp(meter.batch, batchBounds, commands.length);
      follower.tell();
      writing.goesOn();
      if (recorded.length > 0) setFull(state, readable() < log.head().size);
      return outcomes.map((outcome) => {
        if (outcome instanceof Error) return internal(outcome);
        const isUnread = outcome.ok && outcome.position > readable();
        return isUnread ? { ok: false, failure: 'unread', message: '' } : outcome;
      });
    } catch (error) {
      if (error instanceof OutdatedError) {
        agreement.end(error, readable());
        return commands.map(() => ({ ok: false, failure: 'former', message: '' }));
      }
      const kind = kindOf(error);
      if (kind === null) return commands.map(() => failure(error, 'full'));
      writing.stops(error);
      return commands.map(() => ({ ok: false, failure: kind, message: '' }));
    }
  }

  /** Takes into the read tables what the replica has, by whichever node it was recorded. */
  function apply(recorded: readonly RecordedEvent[]): void {
    try {
      tables.apply(recorded);
    } catch (error) {
      failsOnly(error);
    }
    if (recorded.some(({ header }) => header.type === 'document.erased')) say({ kind: 'erased' });
    tellSearch?.();
    segments.look();
  }

  /** A page of what others have appended. */
  async function follow(isExpected: boolean): Promise<number> {
    if (agreement.outdated() !== null) return await agreement.scan(page);
    try {
      const count = await writer.follow(isExpected);
      if (readable() < log.head().size) await writer.between(() => apply([]));
      if (writer.isLevel()) noteLevel();
      return count;
    } catch (error) {
      if (error instanceof OutdatedError) {
        agreement.end(error, readable());
        return 0;
      }
      if (isDiskFull(error)) {
        setFull(state, true);
        throw new SharedLogUnavailableError('there is no room on the disk of this node', { cause: error });
      }
      if (error instanceof SharedLogUnavailableError) noteBehind(error);
      throw error;
    }
  }

  function noteBehind(why: unknown): void {
    setBehind(state, true);
    reading.stops(why);
  }

  function noteLevel(): void {
    lastLevel = performance.now();
    levelAt = Date.now();
    setBehind(state, false);
    reading.goesOn();
  }
}

import { idempotencyMilliseconds } from '../../events/facts/idempotency.ts';
import type { Command } from '../../events/facts/log.ts';
import { OutdatedError } from '../../events/replica/outdated.ts';
import { jumpMilliseconds } from '../../events/store/clock.ts';
import { writeMilliseconds } from '../../storage/postgres/durations.ts';
import { answerCalls } from '../platform/calls.ts';
import { batchBounds, type WriterMeter } from '../platform/meter.ts';
import { setFull } from '../platform/state.ts';
import { tallyUp } from '../platform/tally.ts';
import { openApplying } from './applying.ts';
import { addAnswer, type Outbox, openInbox, send, type WorkOrder } from './inbox.ts';
import type { NodeLog } from './joining.ts';
import { scrubbedOf } from './membership.ts';
import type { Following, WriterAnswer } from './messages.ts';
import { type NodeParts, openReplica, type Replica } from './node-replica.ts';
import { failureOf, openOutageNotice, orUnavailable, undecided } from './outages.ts';
import { answerOf, answersTo, type WriterDirectory } from './thread-parts.ts';

const forgetMilliseconds = 10 * 60_000;

/**
 * Opens the writer of a log that other nodes append to as well. A batch waits for the shared log; the replica takes in
 * what other nodes append meanwhile.
 */
export function openNodeWriter(started: WriterDirectory, node: NodeLog, parts: NodeParts): void {
  const { main, say, state, clock, meter, configured } = parts;
  const { log, readFile, databases } = started;
  const replica = openReplica(started, node, parts);
  const { agreement, shared: writer, tables, follower, maintenance, lag, warn, fail } = replica;
  const readable = tables.position;
  const applying = openApplying({ log, read: databases[1], readFile, configured, agreement, writer, readable });
  if (started.isPending) applying.begin({ state, isWanted: parts.appliesSchema, warn });
  const forgetting = setInterval(() => {
    // Forgetting only saves disk space: if it fails, it is done the next time.
    node.shared.forgetIdempotencyRecords(idempotencyMilliseconds).catch(() => {});
  }, forgetMilliseconds);
  const following: Following = {
    current: () => orUnavailable(follower.current()),
    reach: (position) => orUnavailable(follower.reach(position)),
    durable: () => orUnavailable(writer.confirmed(), undecided),
    apply: applying.apply,
  };
  const notice = openOutageNotice(say, ['writes are refused', 'writes go on']);
  const appending: Appending = { replica, clock, meter, notice };
  const inbox = openInbox({ main, say, handle, drain, close, onFailure: fail });
  node.membership.tell(() => {
    return { state: 'ready', applied: readable(), scrubbed: scrubbedOf(log), levelAt: lag.levelAt() };
  });

  function handle(order: WorkOrder): void {
    switch (order.kind) {
      case 'following':
        answerCalls<Following>(order.port, following);
        return;
      case 'adopt':
        // A node has one configuration from its start to its end.
        say({ kind: 'adopted', isRecorded: false });
        return;
      default:
        maintenance.take(order);
    }
  }

  async function drain(): Promise<void> {
    for (let batch = inbox.takeBatch(); batch.length > 0; batch = inbox.takeBatch()) {
      const within = Math.max(writeMilliseconds.usual - (performance.now() - inbox.since()), writeMilliseconds.least);
      const commands = batch.map(({ command }) => JSON.parse(command) as Command);
      const answers = await append(appending, commands, within);
      const outbox: Outbox = new Map();
      for (const [index, queued] of batch.entries()) addAnswer(outbox, queued, answers[index] as WriterAnswer);
      send(outbox);
      maintenance.noteBatch();
    }
  }

  async function close(): Promise<void> {
    clearInterval(forgetting);
    applying.close();
    await replica.close();
    await node.membership.leave();
    await node.shared.close();
    say({ kind: 'closed' });
    main.close();
  }
}

/** The parts that append a batch. */
type Appending = Pick<NodeParts, 'clock'> & {
  replica: Replica;
  meter: WriterMeter;
  notice: ReturnType<typeof openOutageNotice>;
};

/** Appends a batch to the shared log. @param within the milliseconds after which it is refused. */
async function append(
  { replica, clock, meter, notice }: Appending,
  commands: readonly Command[],
  within: number,
): Promise<WriterAnswer[]> {
  const { log, state, refusals, agreement, tables, shared, follower } = replica;
  if (clock.lead() > jumpMilliseconds) return answersTo(commands, 'clock');
  if (!agreement.mayWrite()) return answersTo(commands, 'former');
  try {
    const { outcomes, recorded } = await shared.append(commands, within);
    tallyUp(meter.batch, batchBounds, commands.length);
    follower.tell();
    notice.goesOn();
    if (recorded.length > 0) setFull(state, tables.position() < log.head().size);
    return outcomes.map((outcome) => {
      if (outcome instanceof Error) return answerOf(outcome);
      const isUnread = outcome.ok && outcome.position > tables.position();
      return isUnread ? { ok: false, failure: 'unread', message: '' } : outcome;
    });
  } catch (error) {
    if (error instanceof OutdatedError) {
      agreement.end(error, tables.position());
      return answersTo(commands, 'former');
    }
    const failure = failureOf(error);
    if (failure === null) return commands.map(() => refusals.failure(error, 'full'));
    notice.stops(error);
    return answersTo(commands, failure);
  }
}

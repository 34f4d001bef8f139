import type { Command, RecordedEvent } from '../../events/facts/log.ts';
import { fetchFrames } from '../../events/segments/fetching.ts';
import type { OffloadedFrame } from '../../events/segments/offloaded.ts';
import { jumpMilliseconds } from '../../events/store/clock.ts';
import { catchUp } from '../../projections/start/rebuild.ts';
import { messageOf } from '../../storage/errors.ts';
import { batchBounds, syncBounds } from '../platform/meter.ts';
import { setFull } from '../platform/state.ts';
import { tallyUp } from '../platform/tally.ts';
import { type Generations, openGenerations } from './generations.ts';
import { addAnswer, type Outbox, openInbox, type QueuedCommand, send, type WorkOrder } from './inbox.ts';
import { type Maintenance, openMaintenance } from './maintenance.ts';
import type { WriterAnswer, WriterAnswers } from './messages.ts';
import {
  answerOf,
  answersTo,
  type Refusals,
  refusalsOf,
  type ThreadParts,
  type WriterDirectory,
} from './thread-parts.ts';

/** The parts of a writer that has the log to itself. */
type Writer = Pick<WriterDirectory, 'log' | 'projector'> & {
  parts: ThreadParts;
  refusals: Refusals;
  generations: Generations;
  maintenance: Maintenance;
};

/**
 * Opens the writer of a log that only this service appends to. A batch is recorded, applied to the read tables and
 * answered without a pause, so nothing else needs to wait for it.
 */
export function openStandaloneWriter({ log, projector, scrubber }: WriterDirectory, parts: ThreadParts): void {
  const { main, say } = parts;
  const refusals = refusalsOf(parts.state);
  const generations = openGenerations({ log, projector }, parts, refusals);
  const maintenance = openMaintenance({ log, scrubber }, { parts, refusals, between: (run) => run() });
  const writer: Writer = { log, projector, parts, refusals, generations, maintenance };
  const inbox = openInbox({ main, say, handle, drain, close });

  function handle(order: WorkOrder): void {
    switch (order.kind) {
      case 'adopt':
        inbox.takeSent();
        generations.order(order);
        inbox.schedule();
        return;
      case 'following':
        // Only a node follows another log.
        return;
      default:
        maintenance.take(order);
    }
  }

  function drain(): undefined {
    for (;;) {
      const batch = inbox.takeBatch();
      if (batch.length > 0) {
        answer(batch);
        maintenance.noteBatch();
      }
      const held = generations.adoptOrdered();
      if (held.length === 0) return;
      for (const command of held) inbox.put(command);
    }
  }

  function answer(batch: readonly QueuedCommand[]): void {
    const outbox: Outbox = new Map();
    const current: QueuedCommand[] = [];
    const commands: Command[] = [];
    for (const queued of batch) {
      if (generations.isLater(queued.from)) {
        generations.hold(queued);
        continue;
      }
      const command: Command = JSON.parse(queued.command);
      if (generations.isFormer(queued.from, command)) {
        addAnswer(outbox, queued, { ok: false, failure: 'former', message: '' });
        continue;
      }
      current.push(queued);
      commands.push(command);
    }
    const answers = commands.length > 0 ? record(writer, commands) : [];
    for (const [index, queued] of current.entries()) {
      const answer = answers[index] as WriterAnswer;
      if ('missing' in answer && answer.missing) fetchFor(queued, answer.missing);
      else addAnswer(outbox, queued, answer);
    }
    send(outbox);
  }

  /** Fetches the payloads that an erasure needs, and puts its command back; other writes go on meanwhile. */
  function fetchFor(queued: QueuedCommand, missing: readonly OffloadedFrame[]): void {
    fetchFrames(missing).then(
      () => inbox.put(queued),
      (error) => {
        const answer: WriterAnswer = { ok: false, failure: 'offloaded', message: messageOf(error) };
        queued.from.port.postMessage([{ id: queued.id, answer }] satisfies WriterAnswers);
      },
    );
  }

  function close(): undefined {
    maintenance.close();
    say({ kind: 'closed' });
    main.close();
  }
}

/** Appends a batch to the log, and applies its events to the read tables. */
function record(writer: Writer, commands: readonly Command[]): WriterAnswer[] {
  const { log, projector, generations, maintenance } = writer;
  const { clock, meter, state } = writer.parts;
  const { failure } = writer.refusals;
  if (clock.lead() > jumpMilliseconds) return answersTo(commands, 'clock');
  if (!generations.recordDeclared()) return answersTo(commands, 'full');
  try {
    // A full disk has kept earlier events out of the read tables.
    if ((projector.checkpoint()?.position ?? 0) < log.head().size) catchUp(projector, { log });
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
    outcomes = result.outcomes.map((outcome) => (outcome instanceof Error ? answerOf(outcome) : outcome));
  } catch (error) {
    return commands.map(() => failure(error, 'full'));
  }
  try {
    projector.apply(recorded, log.head().root);
  } catch (error) {
    return outcomes.map((outcome) => (outcome.ok ? failure(error, 'unread') : outcome));
  }
  if (recorded.length > 0) {
    setFull(state, false);
    maintenance.noteEvents();
  }
  return outcomes;
}

import type { Command } from '../../events/facts/log.ts';
import { jumpMilliseconds } from '../../events/store/clock.ts';
import { schemaCommand } from '../../projections/start/boot.ts';
import type { Declaration } from '../../projections/tables/epochs.ts';
import type { QueuedCommand, Sender } from './inbox.ts';
import type { WriterOrder } from './messages.ts';
import type { Refusals, ThreadParts, WriterDirectory } from './thread-parts.ts';

type AdoptOrder = Extract<WriterOrder, { kind: 'adopt' }>;

/** The generations of the configuration by which threads admit commands, and which of them is in force. */
export type Generations = ReturnType<typeof openGenerations>;

/** Opens the generations; 0 is in force. */
export function openGenerations(
  { log, projector }: Pick<WriterDirectory, 'log' | 'projector'>,
  { say, clock, ids }: ThreadParts,
  { failure }: Refusals,
) {
  let generation = 0;
  /** The schema and rules to be recorded before any other event. */
  let declared: Declaration | null = null;
  let held: QueuedCommand[] = [];
  const ordered: AdoptOrder[] = [];

  function adopt(order: AdoptOrder): void {
    generation = order.generation;
    declared = order.declared ?? declared;
    say({ kind: 'adopted', isRecorded: recordDeclared() });
  }

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

  return {
    /** Whether a sender's generation is not in force yet. */
    isLater: ({ generation: own }: Sender): boolean => own !== null && own > generation,
    /**
     * Whether the rule that admitted a command is no longer in force. The log names the rule, so the rule must belong
     * to the schema before the event.
     */
    isFormer: ({ generation: own }: Sender, { context }: Command): boolean =>
      own !== null && own < generation && context.rule !== undefined,
    /** Keeps a command of a later generation until {@link adoptOrdered}. */
    hold: (command: QueuedCommand): void => void held.push(command),
    /** Takes an order to adopt a generation. */
    order: (order: AdoptOrder): void => void ordered.push(order),
    /** Adopts the ordered generations. @returns the commands that were held. */
    adoptOrdered(): readonly QueuedCommand[] {
      if (ordered.length === 0) return [];
      for (const order of ordered.splice(0)) adopt(order);
      const commands = held;
      held = [];
      return commands;
    },
    /** Records the schema and rules in force if the log does not have them. @returns false if it could not. */
    recordDeclared,
  };
}

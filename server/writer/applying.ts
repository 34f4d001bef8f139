import { DomainError } from '../../config/errors.ts';
import { SharedLogUnavailableError, UnknownShipmentError } from '../../events/shared-log.ts';
import type { SharedWriter } from '../../events/shared-writer.ts';
import type { Prepared, SqliteLog } from '../../events/sqlite-log.ts';
import { type BootOptions, schemaCommand } from '../../projections/boot.ts';
import { differenceTo, epochsOf } from '../../projections/epochs.ts';
import { claimsIn } from '../../projections/fit.ts';
import { lookAtChanges, requireFit, SchemaError } from '../../projections/schema-check.ts';
import { messageOf } from '../../storage/errors.ts';
import type { Sqlite } from '../../storage/sqlite.ts';
import { type StateCell, stateIn } from '../platform/state.ts';
import type { NodeAgreement } from './agreement.ts';
import type { AppliedSchema } from './messages.ts';

/** The configuration with which a node was started. */
export type Configured = Pick<BootOptions, 'directory' | 'schema' | 'rules' | 'isStrict' | 'ids'>;

/** The parts of a node that waits. `read`, `readFile`: its read tables, which are those of its configuration. */
type Parts = {
  log: SqliteLog;
  read: Sqlite;
  readFile: string;
  configured: Configured;
  agreement: NodeAgreement;
  writer: Pick<SharedWriter, 'appendWith' | 'between'>;
  /** Up to where the read tables are. */
  readable: () => number;
};

export type Applying = ReturnType<typeof openApplying>;

/** A claim of each document may be sent with it. */
const patience = 60_000;

/** The log is free again after so many milliseconds where this node stops: longer by the time that the checks took before. */
const shortestHold = 2000;
const slowerUnderLoad = 4;

/** Thrown where there is nothing left to apply. */
class NothingToApplyError extends Error {}

/** Records the schema and rules of a node in the log of all nodes, with the claims that hold under them. */
export function openApplying({ log, read, readFile, configured, agreement, writer, readable }: Parts) {
  const { schema, rules, isStrict = false } = configured;
  let running: Promise<AppliedSchema> | null = null;

  /** @throws SchemaError when documents stand against it; NothingToApplyError; DomainError. */
  function prepare(): Prepared {
    if (!agreement.isWaiting()) throw new NothingToApplyError();
    if (readable() < log.head().size)
      throw unavailable('there is no room on the disk of this node for its read tables');
    const epochs = epochsOf(log);
    const command = schemaCommand(log, configured);
    if (!differenceTo(epochs.at(-1), { schema, rules }).isChanged) return log.prepare([command]);
    if (isStrict) lookAtChanges({ ...configured, isStrict }, log, epochs);
    requireFit(log, schema, readFile);
    return log.prepareSchema(command, claimsIn(read, schema));
  }

  /** Decides all of it while others can write, so that what stands against it is found, and for how long they will have to wait. */
  function rehearse(): number {
    const begun = performance.now();
    prepare().rollBack();
    return performance.now() - begun;
  }

  async function run(): Promise<AppliedSchema> {
    const former = agreement.outdated();
    if (former !== null) throw new DomainError('conflict', `this node is outdated, and applies nothing: ${former}`);
    try {
      const took = await writer.between(rehearse);
      await writer.appendWith(prepare, patience, shortestHold + slowerUnderLoad * took);
      return { outcome: 'applied', position: log.head().size };
    } catch (error) {
      if (error instanceof NothingToApplyError) return { outcome: 'current', position: log.head().size };
      if (error instanceof SchemaError) throw new DomainError('conflict', error.message);
      if (error instanceof UnknownShipmentError)
        throw unavailable('it is not known whether the configuration was applied: try again, it is applied once');
      if (error instanceof SharedLogUnavailableError)
        throw unavailable('the log in PostgreSQL could not be written: the configuration was not applied, try again');
      throw error;
    }
  }

  return {
    /**
     * Applies it, once for all that ask at the same time.
     *
     * @throws DomainError `conflict` naming the documents that stand against it, `unavailable` where the log could not be written.
     */
    apply(): Promise<AppliedSchema> {
      running ??= run().finally(() => {
        running = null;
      });
      return running;
    },
    /** Whether the log has had this configuration, and another one after it. */
    isFormer: () =>
      epochsOf(log).some((epoch) => !Object.values(differenceTo(epoch, { schema, rules })).includes(true)),
  };
}

type ByItself = {
  state: StateCell;
  isWanted: boolean;
  agreement: NodeAgreement;
  warn: (message: string) => void;
};

const lookMilliseconds = 50;
const againMilliseconds = 5000;

/**
 * Applies the configuration of a node that waits as soon as it answers requests, where that is wanted, and says what is in the way. A node
 * that ends later must not have the log go back when it starts again: so none that the log had before is applied without being asked.
 *
 * @returns ends it.
 */
export function applyByItself(
  { apply, isFormer }: Applying,
  { state, isWanted, agreement, warn }: ByItself,
): () => void {
  let timer: NodeJS.Timeout | undefined;
  let warned = '';
  const tell = (message: string) => {
    if (message !== warned) warn(message);
    warned = message;
  };
  const after = (milliseconds: number) => {
    timer = setTimeout(() => void look(), milliseconds);
  };

  async function look(): Promise<void> {
    if (!agreement.isWaiting() || agreement.outdated() !== null) return;
    // Until then it would take the writes of no client.
    if (stateIn(state) !== 'waiting') return after(lookMilliseconds);
    try {
      await apply();
    } catch (error) {
      tell(`the configuration is not applied yet: ${messageOf(error)}`);
      after(againMilliseconds);
    }
  }

  if (agreement.isWaiting()) {
    const isApplied = isWanted && !isFormer();
    if (isApplied) after(0);
    else tell(isWanted ? formerConfiguration : waiting);
  }
  return () => clearTimeout(timer);
}

const byCommand = 'this node takes no requests until annals schema apply applies it, or another node does';
const waiting = `the configuration is another one than the log in PostgreSQL has: ${byCommand}`;
const formerConfiguration = `the log in PostgreSQL had this configuration before the one that it has: ${byCommand}`;

const retrySeconds = 1;

function unavailable(message: string): DomainError {
  return new DomainError('unavailable', message, [], retrySeconds);
}

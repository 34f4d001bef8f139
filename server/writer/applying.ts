import { DomainError } from '../../config/errors.ts';
import type { Prepared, SqliteLog } from '../../events/log/sqlite-log.ts';
import { OutdatedError } from '../../events/replica/outdated.ts';
import { SharedLogUnavailableError, UnknownShipmentError } from '../../events/replica/shared-log.ts';
import type { SharedWriter } from '../../events/replica/shared-writer.ts';
import { type BootOptions, schemaCommand } from '../../projections/start/boot.ts';
import { lookAtChanges, requireFit, SchemaError, settledIn } from '../../projections/start/schema-check.ts';
import { claimsIn } from '../../projections/start/schema-fit.ts';
import { differenceTo, epochsOf } from '../../projections/tables/epochs.ts';
import { messageOf } from '../../storage/errors.ts';
import { isDiskFull, type Sqlite } from '../../storage/sqlite.ts';
import { type StateCell, stateIn } from '../platform/state.ts';
import type { AppliedSchema } from './messages.ts';
import type { NodeAgreement } from './schema-agreement.ts';

/** The configuration with which a node was started. */
export type Configured = Pick<BootOptions, 'directory' | 'schema' | 'rules' | 'isStrict' | 'acceptsLoss' | 'ids'>;

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

/** A claim of each document may be sent with it. */
const patience = 60_000;

/**
 * The log is free again after so many milliseconds where this node stops: longer by the time that the checks took
 * before.
 */
const shortestHold = 2000;
const slowerUnderLoad = 4;

const renamedMeanwhile =
  'since this node was started, the collections of the log have become others than those that renamedFrom names: start it again';

/** Thrown where there is nothing left to apply. */
class NothingToApplyError extends Error {}

/** Records the schema and rules of a node in the log of all nodes, with the claims that hold under them. */
export function openApplying({ log, read, readFile, configured, agreement, writer, readable }: Parts) {
  const { schema, rules, isStrict = false } = configured;
  // By whether losses are accepted.
  const running = new Map<boolean, Promise<AppliedSchema>>();

  /** @throws SchemaError when documents stand against it; NothingToApplyError; DomainError. */
  function prepare(acceptsLoss: boolean): Prepared {
    if (!agreement.isWaiting()) throw new NothingToApplyError();
    if (readable() < log.head().size) throw noRoomHere();
    const epochs = epochsOf(log);
    // Others may have renamed a collection meanwhile, or written to one that was empty.
    const { schema: settled } = settledIn(log, epochs, schema);
    if (JSON.stringify(settled) !== JSON.stringify(schema)) throw new SchemaError(renamedMeanwhile);
    const command = schemaCommand(log, configured);
    if (!differenceTo(epochs.at(-1), { schema, rules }).isChanged) return log.prepare([command]);
    if (isStrict || !acceptsLoss) lookAtChanges({ ...configured, acceptsLoss }, log, epochs);
    requireFit(log, schema, readFile);
    return log.prepareSchema(command, claimsIn(read, schema));
  }

  /**
   * Decides all of it while others can write, so that what stands against it is found, and for how long they will have
   * to wait.
   */
  function rehearse(acceptsLoss: boolean): number {
    const begun = performance.now();
    prepare(acceptsLoss).rollBack();
    return performance.now() - begun;
  }

  async function run(acceptsLoss: boolean): Promise<AppliedSchema> {
    const former = agreement.outdated();
    if (former !== null) throw new DomainError('conflict', `this node is outdated, and applies nothing: ${former}`);
    try {
      const took = await writer.between(() => rehearse(acceptsLoss));
      await writer.appendWith(() => prepare(acceptsLoss), patience, shortestHold + slowerUnderLoad * took);
      return { outcome: 'applied', position: log.head().size };
    } catch (error) {
      if (error instanceof NothingToApplyError) return { outcome: 'current', position: log.head().size };
      if (error instanceof SchemaError) throw new DomainError('conflict', error.message);
      if (error instanceof OutdatedError) throw new DomainError('conflict', `it was not applied: ${error.message}`);
      if (isDiskFull(error)) throw noRoomHere();
      if (error instanceof UnknownShipmentError)
        throw unavailable('it is not known whether the configuration was applied: try again, it is applied once');
      if (error instanceof SharedLogUnavailableError)
        throw unavailable('the log in PostgreSQL could not be written: the configuration was not applied, try again');
      throw error;
    }
  }

  /** Once for all that ask at the same time. */
  function apply(options = { acceptsLoss: false }): Promise<AppliedSchema> {
    const acceptsLoss = options.acceptsLoss || configured.acceptsLoss === true;
    const found = running.get(acceptsLoss);
    if (found) return found;
    const begun = run(acceptsLoss).finally(() => running.delete(acceptsLoss));
    running.set(acceptsLoss, begun);
    return begun;
  }

  let timer: NodeJS.Timeout | undefined;
  let told = '';

  /**
   * Begins to wait, and says so. Where it is wanted, applies it as soon as this node answers requests; but none that
   * the log had before: the log must not go back to it when a node that was not upgraded yet starts again.
   */
  function begin(options: Beginning): void {
    const { isWanted, warn } = options;
    const isFormer = epochsOf(log).some((one) => !Object.values(differenceTo(one, { schema, rules })).includes(true));
    if (isWanted && !isFormer) applySoon(options, 0);
    else warn(isFormer ? formerConfiguration : newConfiguration);
  }

  function applySoon({ state, warn, ...rest }: Beginning, milliseconds: number): void {
    const again = (later: number) => applySoon({ state, warn, ...rest }, later);
    timer = setTimeout(() => {
      if (!agreement.isWaiting() || agreement.outdated() !== null) return;
      // Until then it would take the writes of no client.
      if (stateIn(state) !== 'waiting') return again(lookMilliseconds);
      apply().catch((error) => {
        const message = `the configuration is not applied yet: ${messageOf(error)}`;
        if (message !== told) warn(message);
        told = message;
        again(againMilliseconds);
      });
    }, milliseconds);
  }

  return {
    /**
     * @throws DomainError `conflict` naming the documents that stand against it, `unavailable` where the log could not
     * be written.
     */
    apply,
    begin,
    close: () => clearTimeout(timer),
  };
}

type Beginning = { state: StateCell; isWanted: boolean; warn: (message: string) => void };

const lookMilliseconds = 50;
const againMilliseconds = 5000;

const byCommand = 'this node takes no requests until annals schema apply applies it, or another node does';
const newConfiguration = `the configuration is another one than the log in PostgreSQL has: ${byCommand}`;
const formerConfiguration = `the log in PostgreSQL had this configuration before the one that it has: ${byCommand}`;

const retrySeconds = 1;

function noRoomHere(): DomainError {
  return unavailable('there is no room on the disk of this node: the configuration was not applied');
}

function unavailable(message: string): DomainError {
  return new DomainError('unavailable', message, [], retrySeconds);
}

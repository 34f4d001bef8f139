import { DomainError } from '../../config/errors.ts';
import type { PreparedBatch, SqliteLog } from '../../events/log/sqlite-log.ts';
import { OutdatedError } from '../../events/replica/outdated.ts';
import { SharedLogUnavailableError, UnknownShipmentError } from '../../events/replica/shared-log.ts';
import type { SharedWriter } from '../../events/replica/shared-writer.ts';
import { type BootOptions, schemaCommand } from '../../projections/start/boot.ts';
import { checkChanges, requireFit, SchemaError, settledIn } from '../../projections/start/schema-check.ts';
import { claimsIn } from '../../projections/start/schema-fit.ts';
import { differenceTo, epochsOf } from '../../projections/tables/epochs.ts';
import { messageOf } from '../../storage/errors.ts';
import { holdMilliseconds, longHoldMilliseconds } from '../../storage/postgres/durations.ts';
import { isDiskFull, type Sqlite } from '../../storage/sqlite.ts';
import { type StateCell, stateIn } from '../platform/state.ts';
import type { AppliedSchema } from './messages.ts';
import type { NodeAgreement } from './schema-agreement.ts';

/** The configuration with which a node was started. */
export type NodeConfiguration = Pick<
  BootOptions,
  'directory' | 'schema' | 'rules' | 'isStrict' | 'acceptsLoss' | 'ids'
>;

/** The parts of a node that applies its configuration. */
type Parts = {
  log: SqliteLog;
  /** The read tables, which are those of the node's configuration, and the path of their file. */
  read: Sqlite;
  readFile: string;
  configured: NodeConfiguration;
  agreement: NodeAgreement;
  writer: Pick<SharedWriter, 'appendWith' | 'between'>;
  /** The position of the read tables. */
  readable: () => number;
};

/**
 * If this node stops while it applies, the log is free after the usual time and this multiple of that of the checks.
 */
const slowerUnderLoad = 4;

const renamedMeanwhile =
  'since this node was started, the collections of the log have become others than those that renamedFrom names: start it again';

/** Thrown if the log has the configuration of this node already. */
class NothingToApplyError extends Error {}

/** Opens what records the schema and rules of a node in the log of all nodes, with the claims that hold under them. */
export function openApplying(parts: Parts) {
  const { log, configured, agreement, writer } = parts;
  /** The calls that run, by whether they accept losses. */
  const running = new Map<boolean, Promise<AppliedSchema>>();

  async function run(acceptsLoss: boolean): Promise<AppliedSchema> {
    const outdated = agreement.outdated();
    if (outdated !== null) throw new DomainError('conflict', `this node is outdated, and applies nothing: ${outdated}`);
    try {
      const took = await writer.between(() => rehearse(parts, acceptsLoss));
      await writer.appendWith(
        () => prepare(parts, acceptsLoss),
        longHoldMilliseconds,
        holdMilliseconds + slowerUnderLoad * took,
      );
      return { outcome: 'applied', position: log.head().size };
    } catch (error) {
      if (error instanceof NothingToApplyError) return { outcome: 'current', position: log.head().size };
      throw refusalOf(error) ?? error;
    }
  }

  /**
   * Applies the configuration of this node, once for all calls at the same time.
   *
   * @throws DomainError `conflict` naming the documents that the schema refuses, `unavailable` if the log could not be
   * written.
   */
  function apply(options = { acceptsLoss: false }): Promise<AppliedSchema> {
    const acceptsLoss = options.acceptsLoss || configured.acceptsLoss === true;
    const found = running.get(acceptsLoss);
    if (found) return found;
    const begun = run(acceptsLoss).finally(() => running.delete(acceptsLoss));
    running.set(acceptsLoss, begun);
    return begun;
  }

  let timer: NodeJS.Timeout | undefined;
  let warned = '';

  /** Tells the operator that the configuration is not applied, or applies it when this node takes writes. */
  function begin(options: Beginning): void {
    const { isWanted, warn } = options;
    const isFormer = hadBefore(log, configured);
    if (isWanted && !isFormer) applySoon(options, 0);
    else warn(isFormer ? formerConfiguration : newConfiguration);
  }

  function applySoon(options: Beginning, milliseconds: number): void {
    const { state, warn } = options;
    timer = setTimeout(() => {
      if (!agreement.isWaiting() || agreement.outdated() !== null) return;
      // Before the node answers requests, clients could not write to it anyway.
      if (stateIn(state) !== 'waiting') return applySoon(options, lookMilliseconds);
      apply().catch((error) => {
        const message = `the configuration is not applied yet: ${messageOf(error)}`;
        if (message !== warned) warn(message);
        warned = message;
        applySoon(options, againMilliseconds);
      });
    }, milliseconds);
  }

  return { apply, begin, close: () => clearTimeout(timer) };
}

/** `isWanted`: whether the configuration is to be applied as soon as the node takes writes. */
type Beginning = { state: StateCell; isWanted: boolean; warn: (message: string) => void };

const lookMilliseconds = 50;
const againMilliseconds = 5000;

/**
 * Whether the log had this configuration before. Then it must not go back to it when a node starts that is not
 * upgraded yet.
 */
function hadBefore(log: SqliteLog, { schema, rules }: NodeConfiguration): boolean {
  return epochsOf(log).some((epoch) => !Object.values(differenceTo(epoch, { schema, rules })).includes(true));
}

/** Makes the event and its claims. @throws SchemaError if it refuses documents; NothingToApplyError; DomainError. */
function prepare({ log, read, readFile, configured, agreement, readable }: Parts, acceptsLoss: boolean): PreparedBatch {
  const { schema, rules, isStrict = false } = configured;
  if (!agreement.isWaiting()) throw new NothingToApplyError();
  if (readable() < log.head().size) throw diskFullHere();
  const epochs = epochsOf(log);
  // Other nodes may have renamed a collection meanwhile, or written to an empty one.
  const { schema: settled } = settledIn(log, epochs, schema);
  if (JSON.stringify(settled) !== JSON.stringify(schema)) throw new SchemaError(renamedMeanwhile);
  const command = schemaCommand(log, configured);
  if (!differenceTo(epochs.at(-1), { schema, rules }).isChanged) return log.prepare([command]);
  if (isStrict || !acceptsLoss) checkChanges({ ...configured, acceptsLoss }, log, epochs);
  requireFit(log, schema, readFile);
  return log.prepareSchema(command, claimsIn(read, schema));
}

/**
 * Prepares the event and undoes it, while other nodes can write: to find what stands against the schema, and how long
 * other nodes will have to wait. @returns milliseconds.
 */
function rehearse(parts: Parts, acceptsLoss: boolean): number {
  const begun = performance.now();
  prepare(parts, acceptsLoss).rollBack();
  return performance.now() - begun;
}

/** The refusal of a call that failed with an error that may happen; null for another error. */
function refusalOf(error: unknown): DomainError | null {
  if (error instanceof SchemaError) return new DomainError('conflict', error.message);
  if (error instanceof OutdatedError) return new DomainError('conflict', `it was not applied: ${error.message}`);
  if (isDiskFull(error)) return diskFullHere();
  if (error instanceof UnknownShipmentError)
    return new DomainError('outcome_unknown', unknownOutcome, [], retrySeconds);
  if (error instanceof SharedLogUnavailableError)
    return unavailable('the log in PostgreSQL could not be written: the configuration was not applied, try again');
  return null;
}

const byCommand = 'this node takes no requests until annals schema apply applies it, or another node does';
const newConfiguration = `the configuration is another one than the log in PostgreSQL has: ${byCommand}`;
const formerConfiguration = `the log in PostgreSQL had this configuration before the one that it has: ${byCommand}`;

const retrySeconds = 1;

const unknownOutcome = 'it is not known whether the configuration was applied: try again, it is applied once';

function diskFullHere(): DomainError {
  const message = 'there is no room on the disk of this node: the configuration was not applied';
  return new DomainError('disk_full', message, [], retrySeconds);
}

function unavailable(message: string): DomainError {
  return new DomainError('unavailable', message, [], retrySeconds);
}

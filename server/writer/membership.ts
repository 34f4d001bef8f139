import { hash, randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { SqliteLog } from '../../events/log/sqlite-log.ts';
import { readAddress } from '../../events/postgres/address.ts';
import { openCleaner } from '../../events/postgres/cleaning.ts';
import { openRegistry } from '../../events/postgres/nodes.ts';
import type { PostgresLog } from '../../events/postgres/postgres-log.ts';
import { startReporting } from '../../events/postgres/reporting.ts';
import type { Replication } from '../../events/postgres/standbys.ts';
import type { NodeReport, Standing } from '../../events/postgres/standing.ts';
import { codeOf, messageOf } from '../../storage/errors.ts';
import { privateFile } from '../../storage/private.ts';
import { version } from '../platform/version.ts';

/**
 * The state of a node, as it knows it. `levelAt`: when the node last had all of the log, in milliseconds since the
 * epoch.
 */
type OwnState = Pick<NodeReport, 'state' | 'applied' | 'scrubbed'> & { levelAt: number };

/** The state of a node and of the log at its last report. `reportedAt`: milliseconds since the epoch, local clock. */
export type NodeStanding = Standing & { own: OwnState; replication: Replication | null; reportedAt: number };

/** A node on the list of all nodes of a log. */
export type Membership = {
  /** Resolves when the node is listed. Before, it must take nothing from the log: no erasure would wait for it. */
  listed: Promise<unknown>;
  /** Sets what the node reports of itself. */
  tell: (own: () => OwnState) => void;
  /** Takes the node off the list, when it ends in order. */
  leave: () => Promise<void>;
};

type Options = {
  directory: string;
  /** The address of PostgreSQL. */
  address: string;
  /** The name that the setting gives; undefined for a generated name, which the data directory keeps. */
  name: string | undefined;
  shared: PostgresLog;
  schema: unknown;
  own: () => OwnState;
  onStanding: (standing: NodeStanding) => void;
  warn: (message: string) => void;
};

/** The milliseconds that a node which ends waits for its cleaning. */
const leaveMilliseconds = 1000;

/** The file of a data directory that keeps the name of its node. */
const nameFile = 'node';

/**
 * Puts a node on the list, and keeps its row up to date. If something was erased, one node cleans the tables of the
 * log.
 */
export function startMembership(options: Options): Membership {
  const { directory, address: text, shared, schema, onStanding, warn } = options;
  const { tables } = shared;
  const address = readAddress(text);
  const instance = randomBytes(12).toString('hex');
  const node = options.name ?? keptName(directory);
  let own = options.own;
  const registry = openRegistry({ address, tables, node, instance });
  const cleaner = openCleaner({ address, tables, holder: instance, scrubbed: () => own().scrubbed });
  const about = { version: version(), schema: hash('sha256', JSON.stringify(schema), 'hex').slice(0, 12) };
  let cleaning: Promise<void> | null = null;
  let warned = '';
  let isLeaving = false;
  const reporting = startReporting({
    registry,
    own: () => {
      const { state, applied, scrubbed } = own();
      return { ...about, state, applied, scrubbed };
    },
    warn,
    onStanding: (standing, replication) => {
      onStanding({ ...standing, own: own(), replication, reportedAt: Date.now() });
      if (!isLeaving && standing.erased > standing.cleaned) cleaning ??= clean().finally(() => (cleaning = null));
    },
  });

  async function clean(): Promise<void> {
    try {
      await cleaner.pass();
      warned = '';
    } catch (error) {
      const message = `the tables of the log cannot be cleaned of what was erased: ${messageOf(error)}; it is tried again`;
      if (message !== warned && !isLeaving) warn(message);
      warned = message;
    }
  }

  return {
    listed: reporting.listed,
    tell(next) {
      own = next;
      reporting.hurry();
    },
    async leave() {
      isLeaving = true;
      await cleaner.close();
      // PostgreSQL may take a minute to answer; another node goes on with the cleaning.
      await Promise.race([cleaning, pause(leaveMilliseconds, undefined, { ref: false })]);
      await reporting.close(true);
    },
  };
}

/** The position up to which the files of a node hold nothing erased. */
export function scrubbedOf({ erasures, head }: Pick<SqliteLog, 'erasures' | 'head'>): number {
  const [oldest] = erasures.unfinished();
  return oldest ? oldest.position - 1 : head().size;
}

function keptName(directory: string): string {
  const path = join(directory, nameFile);
  try {
    const found = readFileSync(path, 'utf8').trim();
    if (found !== '') return found;
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
  const machine = hostname()
    .replace(/[^A-Za-z0-9.-]/g, '-')
    .slice(0, 50);
  const made = `${machine}-${randomBytes(3).toString('hex')}`;
  writeFileSync(path, `${made}\n`, { mode: privateFile, flush: true });
  return made;
}

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from '../events/facts/log.ts';
import { type BatchResult, openLog } from '../events/log/sqlite-log.ts';
import { readAddress } from '../events/postgres/address.ts';
import { openPostgresLog } from '../events/postgres/postgres-log.ts';
import { openSharedClock } from '../events/replica/shared-clock.ts';
import { openSharedWriter } from '../events/replica/shared-writer.ts';
import { createIds } from '../events/store/ids.ts';
import { createLog } from '../events/store/log-file.ts';
import { openVault } from '../events/vault/vault.ts';
import { openDatabase } from '../storage/sqlite.ts';
import { commandMaker } from './generate.ts';
import { median, quantile } from './report.ts';

/** Events per second, and milliseconds of one append. */
export type Appending = { batch: number; side: 'sqlite' | 'postgres'; perSecond: number; p50: number; p99: number };

/**
 * The timeout in milliseconds. It is longer than that of a service, because a busy machine must not end the
 * measurement.
 */
const patience = 60_000;

type Append = (commands: Command[]) => Promise<BatchResult> | BatchResult;

/**
 * Compares the appends of one writer to a log in a file and to a log in PostgreSQL, in turn, without HTTP and read
 * tables, in batches of 64 and of 1.
 */
async function compareAppends(folder: string, address: string, rounds: number, seconds: number): Promise<Appending[]> {
  const clock = openSharedClock(Date.now);
  const ids = createIds(new BigInt64Array(new SharedArrayBuffer(8)), clock.now);
  const shared = await openPostgresLog({
    address: readAddress(address),
    site: '',
    makeName: () => `annals/${ids.next().id}`,
    warn: (message) => process.stderr.write(`${message}\n`),
    patience,
  });
  const open = (name: string, durability: 'full' | 'normal') => {
    mkdirSync(join(folder, name), { recursive: true });
    const vault = openVault(join(folder, name, 'vault.db'));
    const seals = vault.seals();
    vault.close();
    const db = openDatabase(join(folder, name, 'log.db'), { durability, cacheMiB: 64 });
    createLog(db, shared.name, seals.key);
    return openLog(db, { ids, now: clock.now, seals });
  };
  const own = open('sqlite', 'full');
  const replica = open('replica', 'normal');
  const writer = openSharedWriter({ replica, shared, clock, apply: () => {}, patience });
  const sides = {
    sqlite: { append: (commands: Command[]) => own.append(commands), next: newCommands() },
    postgres: { append: (commands: Command[]) => writer.append(commands), next: newCommands() },
  };

  function newCommands(): () => Command {
    return commandMaker(ids, [ids.next().id], { creates: 0.7, updates: 0.25 });
  }

  const found: Appending[] = [];
  for (const batch of [64, 1]) {
    const taken = { sqlite: [] as Taken[], postgres: [] as Taken[] };
    // The first round of each side only compiles.
    for (let count = 0; count <= rounds; count += 1) {
      for (const side of ['sqlite', 'postgres'] as const) {
        const { append, next } = sides[side];
        const one = await appendFor(append, next, { batch, seconds: count === 0 ? 1 : seconds });
        if (count > 0) taken[side].push(one);
      }
    }
    for (const side of ['sqlite', 'postgres'] as const) {
      const times = taken[side].flatMap((one) => one.times);
      const perSecond = median(taken[side].map((one) => one.perSecond));
      found.push({ batch, side, perSecond, p50: median(times), p99: quantile(times, 0.99) });
    }
  }
  await writer.close();
  await shared.close();
  return found;
}

type Taken = { perSecond: number; times: number[] };

async function appendFor(
  append: Append,
  next: () => Command,
  { batch, seconds }: { batch: number; seconds: number },
): Promise<Taken> {
  const times: number[] = [];
  let milliseconds = 0;
  while (milliseconds < seconds * 1000) {
    // The making of commands is not measured, because it is the same on both sides.
    const commands = Array.from({ length: batch }, next);
    const begun = performance.now();
    const { outcomes } = await append(commands);
    times.push(performance.now() - begun);
    milliseconds += times.at(-1) as number;
    if (!outcomes.every((outcome) => 'ok' in outcome && outcome.ok)) throw new Error('an append was refused');
  }
  return { perSecond: (times.length * batch * 1000) / milliseconds, times };
}

const [folder = '', address = '', rounds = '3', seconds = '4'] = process.argv.slice(2);
const found = await compareAppends(folder, address, Number(rounds), Number(seconds));
process.stdout.write(JSON.stringify(found), () => process.exit(0));

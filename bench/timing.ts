import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { openVault } from '../events/vault/vault.ts';
import { portOf } from '../events/vault/vault-port.ts';
import { createPasswordService } from '../server/accounts/password-service.ts';
import { category } from '../test/helpers/category.ts';
import { median, round, table, verdict } from './report.ts';
import type { Plan } from './rounds.ts';

/** A running service: the address of its login, and the e-mail of an account. */
export type LoginTarget = { url: string; known: string };

/** Tries an e-mail with a wrong password. */
type Try = (email: string) => Promise<unknown>;

const triesPerRound = 100;
const shuffles = 10_000;
/** The level of significance: a smaller p-value counts as a difference of answer times. */
const significant = 0.001;

/**
 * Tests whether the time of an answer reveals that an account exists: known and unknown e-mails in turn, with wrong
 * passwords, at the password service itself, or at a running service, which must have neither locks nor limits
 * (`maxLoginAttempts`, `rateLimit: false`).
 */
export async function timing(folder: string, plan: Plan, target: LoginTarget | null): Promise<void> {
  const attempts = plan.rounds * triesPerRound;
  if (target) await report(target.url, loginThrough(target.url), target.known, attempts);
  else await withPasswords(folder, (login, known) => report('the password service', login, known, attempts));
}

async function withPasswords(folder: string, run: (login: Try, known: string) => Promise<void>): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const vault = openVault(join(folder, 'vault.db'));
  const { passwords, close } = createPasswordService({
    vault: portOf(vault),
    secret: vault.secret,
    rules: new Map([[category('users'), { maxLoginAttempts: Number.MAX_SAFE_INTEGER, lockTime: 1 }]]),
    // With a cheap hash, the other work is a larger part of the answer time.
    bcryptCost: 6,
    rateLimit: null,
    now: Date.now,
    onMail: () => {},
    onSwapped: () => {},
  });
  const known = 'known-account@example.com';
  const credential = await passwords.storePassword('the right password', '192.0.2.1');
  await run((email) => {
    const attempt = { address: '192.0.2.1', category: category('users'), email, password: 'a wrong password' };
    return passwords.checkPassword({ ...attempt, credential: email === known ? credential : null });
  }, known);
  await close();
  vault.close();
}

function loginThrough(url: string): Try {
  return async (email) => {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email, password: 'a wrong password' }),
    });
    await response.arrayBuffer();
    // An immediate answer, because of a lock or a limit, says nothing about the time of a login.
    if (response.status !== 401) throw new Error(`${url} answered ${response.status}; 401 is needed to compare`);
  };
}

async function report(what: string, login: Try, known: string, attempts: number): Promise<void> {
  const [knownTimes, unknownTimes] = await timesOf(login, known, attempts);
  const [left, right] = [median(knownTimes), median(unknownTimes)];
  const p = pValue(knownTimes, unknownTimes);
  table(
    `Wrong passwords at ${what}, one after the other: milliseconds until the answer`,
    ['attempts of each', 'known e-mail', 'unknown e-mail', 'difference, µs', 'p'],
    [[attempts, round(left), round(right), round((left - right) * 1000), p.toPrecision(2)]],
  );
  verdict('p of such a difference by chance', p, significant);
}

/** Tries both in turn, with alternating order, so that a machine that is slow for a while is slow for both. */
async function timesOf(login: Try, known: string, attempts: number): Promise<[number[], number[]]> {
  const knownTimes: number[] = [];
  const unknownTimes: number[] = [];
  const takeKnown = async () => knownTimes.push(await millisecondsOf(() => login(known)));
  // As many failures are counted for one unknown e-mail as for the known one.
  const takeUnknown = async () => unknownTimes.push(await millisecondsOf(() => login(unknownLike(known))));
  for (let count = 0; count < attempts; count += 1) {
    for (const take of count % 2 === 0 ? [takeKnown, takeUnknown] : [takeUnknown, takeKnown]) await take();
  }
  // The first tries start threads and compile.
  const warm = Math.floor(attempts / 10);
  return [knownTimes.slice(warm), unknownTimes.slice(warm)];
}

/** Another e-mail of the same length as the known one. */
function unknownLike(known: string): string {
  return `${known.startsWith('x') ? 'y' : 'x'}${known.slice(1)}`;
}

async function millisecondsOf(run: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await run();
  return performance.now() - start;
}

/**
 * The p-value of the difference of two samples, by random permutations: the permutation form of the Mann–Whitney test.
 * It compares ranks, so that a few slow answers do not decide.
 */
function pValue(one: readonly number[], other: readonly number[]): number {
  const ranks = ranksOf([...one, ...other]);
  const expected = (one.length * (ranks.length + 1)) / 2;
  const differenceOf = (order: readonly number[]) => {
    let sum = 0;
    for (let index = 0; index < one.length; index += 1) sum += order[index] as number;
    return Math.abs(sum - expected);
  };
  const found = differenceOf(ranks);
  let asLarge = 1;
  for (let count = 0; count < shuffles; count += 1) {
    shuffle(ranks);
    if (differenceOf(ranks) >= found) asLarge += 1;
  }
  return asLarge / (shuffles + 1);
}

/** The rank of each value, from 1. Equal values share the mean of their ranks. */
function ranksOf(values: readonly number[]): number[] {
  const order = values.map((value, index) => ({ value, index })).sort((a, b) => a.value - b.value);
  const ranks: number[] = [];
  for (let start = 0; start < order.length; ) {
    let end = start;
    while (order[end]?.value === order[start]?.value) end += 1;
    for (const { index } of order.slice(start, end)) ranks[index] = (start + 1 + end) / 2;
    start = end;
  }
  return ranks;
}

/** The Fisher–Yates shuffle: every order is equally likely. */
function shuffle(values: number[]): void {
  for (let last = values.length - 1; last > 0; last -= 1) {
    const other = Math.floor(Math.random() * (last + 1));
    [values[last], values[other]] = [values[other] as number, values[last] as number];
  }
}

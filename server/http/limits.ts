import { hash, randomBytes } from 'node:crypto';
import { isIPv6 } from 'node:net';
import type { RateLimiterMemory } from 'rate-limiter-flexible';
import { normalEmail } from '../../config/addresses.ts';
import type { RateLimit } from '../../config/model.ts';
import { once } from '../platform/once.ts';
import type { Count, CountedCall } from '../ports.ts';

export const minuteSeconds = 60;
const hourSeconds = 3600;

/** The most mails to one address in an hour. */
const mailsPerHour = 5;

/**
 * Counts the calls of public account routes by address and by e-mail, minute by minute. The function gives null if
 * nothing is limited.
 *
 * @param places how many counts of either are kept at most.
 */
export function createLimit(
  rateLimit: RateLimit | null,
  places = 65_536,
): (address: string, email: string | null) => Promise<CountedCall | null> {
  if (!rateLimit) return async () => null;
  const addresses = countCalls(rateLimit.address, minuteSeconds, places);
  const emails = countCalls(rateLimit.email, minuteSeconds, places);
  return async (address, email) => {
    const [ofAddress, ofEmail] = await Promise.all([
      addresses(networkOf(address)),
      email === null ? null : emails(normalEmail(email)),
    ]);
    return { ...ofAddress, emailWait: ofEmail?.wait ?? 0 };
  };
}

/**
 * Counts the mails to an account that anybody can ask for. The function says whether one more may be sent; the caller
 * is not told. Each account has its own count, since accounts are not unlimited as addresses are.
 */
export function createMailLimit(): (account: string) => Promise<boolean> {
  const limiter = limiterOf(mailsPerHour, hourSeconds);
  return async (account) => (await count(limiter, account, hourSeconds)).wait === 0;
}

/**
 * The limiter keeps a timer and a record for every key while it counts, and a flood has a new key in every call. So
 * keys share counts. It matters little that two of a thousand callers share one of 65,536 counts: a limit is far above
 * what a caller needs. The key of the hash is new at each start, so that no caller can aim at the count of another one.
 */
function countCalls(points: number, windowSeconds: number, places: number): (key: string) => Promise<Count> {
  const limiter = limiterOf(points, windowSeconds);
  const hashKey = randomBytes(32).toString('hex');
  const placeOf = (key: string) => hash('sha256', hashKey + key, 'buffer').readUInt32BE() % places;
  return (key) => count(limiter, placeOf(key), windowSeconds);
}

type Limiter = () => Promise<RateLimiterMemory>;

/** Loads the limiter with the first call that is counted: the package has a limiter for every database. */
function limiterOf(points: number, duration: number): Limiter {
  return once(async () => {
    const { default: limiters } = await import('rate-limiter-flexible');
    return new limiters.RateLimiterMemory({ points, duration });
  });
}

async function count(limiterFor: Limiter, key: string | number, windowSeconds: number): Promise<Count> {
  const limiter = await limiterFor();
  // A clock that was set back makes this longer than the interval.
  const secondsOf = (milliseconds: number) => Math.min(Math.max(Math.ceil(milliseconds / 1000), 1), windowSeconds);
  try {
    const { remainingPoints, msBeforeNext } = await limiter.consume(key);
    return { wait: 0, remaining: remainingPoints, reset: secondsOf(msBeforeNext) };
  } catch (refusal) {
    const { default: limiters } = await import('rate-limiter-flexible');
    if (!(refusal instanceof limiters.RateLimiterRes)) throw refusal;
    const seconds = secondsOf(refusal.msBeforeNext);
    return { wait: seconds, remaining: 0, reset: seconds };
  }
}

/** The network of a caller: an IPv4 address, in either form, or the /64 of an IPv6 address. */
export function networkOf(address: string): string {
  const bare = address.replace(/%.*$/, '');
  if (!isIPv6(bare)) return bare;
  // URLs normalize it to eight groups in hexadecimal, with "::" for the longest row of zeros.
  const [left = '', right] = new URL(`http://[${bare}]`).hostname.slice(1, -1).split('::');
  const [first, last] = [groupsOf(left), groupsOf(right ?? '')];
  const groups = [...first, ...Array<string>(8 - first.length - last.length).fill('0'), ...last];
  if (groups.slice(0, 6).join(':') === '0:0:0:0:0:ffff') return groups.slice(6).flatMap(bytesOf).join('.');
  return `${groups.slice(0, 4).join(':')}::/64`;
}

function groupsOf(text: string): string[] {
  return text === '' ? [] : text.split(':');
}

function bytesOf(group: string): number[] {
  const value = Number.parseInt(group, 16);
  return [value >> 8, value & 0xff];
}

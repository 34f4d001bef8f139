import { isSmtpUrl } from '../../config/addresses.ts';
import { senderRule, smtpUrlMust } from '../../config/check-email.ts';
import { didYouMean } from '../../config/suggest.ts';
import { readAddress } from '../../events/postgres/address.ts';
import { messageOf } from '../../storage/errors.ts';
import { certificatesIn } from './certificates.ts';
import { parseWitness } from './cosigners.ts';

// Each function reads the text of a setting. Its errors name the source (the variable, the flag or the place in a file)
// and the allowed values, and show no value that may be a secret.

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'silent'];
const maxThreads = 256;

/** Several threads listen on one port by SO_REUSEPORT, which spreads connections evenly on Linux only. */
export const canShareAPort = process.platform === 'linux';

/** Any text but an empty one. */
export function nonEmpty(text: string, source: string): string {
  if (text.trim() === '') throw new Error(`${source} is empty`);
  return text;
}

function wholeNumber(least: number, most: number, must: string) {
  return (text: string, source: string): number => {
    const number = Number(text);
    if (/^\d+$/.test(text) && number >= least && number <= most) return number;
    throw new Error(`${source} must be ${must}, got ${JSON.stringify(text)}`);
  };
}

/** A port. */
export const readPort = wholeNumber(0, 65_535, 'a port number from 0 (any free one) to 65535');

/** A share. */
export const readPercent = wholeNumber(0, 100, 'a whole number from 0 (off) to 100');

/** A century: a longer lock is a mistake, and cannot be undone. */
const maxDays = 36_500;

/** A number of days. */
export const readDays = wholeNumber(1, maxDays, `a whole number of days from 1 to ${maxDays}`);

/** A number of bytes. */
export const readBytes = wholeNumber(0, Number.MAX_SAFE_INTEGER, 'a whole number of bytes from 0');

/** An hour: no balancer takes longer to notice. */
const maxDrainSeconds = 3600;

/** A number of seconds. */
export const readDrainSeconds = wholeNumber(
  0,
  maxDrainSeconds,
  `a whole number of seconds from 0 to ${maxDrainSeconds}`,
);

/** The seconds for which a connection is kept open. */
export const readKeepAliveSeconds = wholeNumber(
  1,
  maxDrainSeconds,
  `a whole number of seconds from 1 to ${maxDrainSeconds}`,
);

/** A minute: no client waits longer. */
const maxReadSeconds = 60;
const leastReadSeconds = 0.05;

const maxCacheMiB = 4096;

/** The seconds that a read may take. */
export function readReadSeconds(text: string, source: string): number {
  const seconds = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && seconds >= leastReadSeconds && seconds <= maxReadSeconds) return seconds;
  throw new Error(
    `${source} must be a number of seconds from ${leastReadSeconds} to ${maxReadSeconds}, got ${JSON.stringify(text)}`,
  );
}

/** The memory for what was read, in MiB. */
export const readCacheMiB = wholeNumber(0, maxCacheMiB, `a whole number of MiB from 0 to ${maxCacheMiB}`);

const countOfThreads = wholeNumber(0, maxThreads, `a whole number from 0 to ${maxThreads}`);

/** A number of threads. */
export function readThreads(text: string, source: string): number {
  const threads = countOfThreads(text, source);
  if (threads > 1 && !canShareAPort) throw new Error(`${source} above 1 works on Linux only, got ${text}`);
  return threads;
}

/** The address under which clients reach a service, without a slash at its end. */
export function readBaseUrl(text: string, source: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  // Mails would show credentials, and so would this error.
  if (url?.username || url?.password) throw new Error(`${source} must not hold a name and password`);
  // A ";" would end the path of a cookie.
  if (!url || !['http:', 'https:'].includes(url.protocol) || url.search || url.hash || url.pathname.includes(';')) {
    throw new Error(`${source} must be an http or https address such as https://cms.example.org, got ${text}`);
  }
  return text.replace(/\/+$/, '');
}

/** The address of a log in PostgreSQL. */
export function readLogAddress(text: string, source: string): string {
  try {
    readAddress(text);
    return text;
  } catch (error) {
    // Not shown: it holds a password.
    throw new Error(`${source}: ${messageOf(error)}`);
  }
}

/** The name of a node. */
export function readNodeName(text: string, source: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(text)) return text;
  throw new Error(
    `${source} must be 1 to 100 letters, digits, ".", "_" and "-", and begin with a letter or digit, got ${text}`,
  );
}

const kindsOfReads = ['linear', 'session', 'eventual'];

/** A kind of reads. */
export function readReads(text: string, source: string): string {
  if (kindsOfReads.includes(text)) return text;
  throw new Error(`${source} must be one of ${kindsOfReads.join(', ')}, got ${text}${didYouMean(text, kindsOfReads)}`);
}

/** A list, separated by commas. */
export function readList(text: string, source: string): string[] {
  const items = text.split(',').map((item) => item.trim());
  if (items.some((item) => item === '')) throw new Error(`${source} holds an empty value`);
  return items;
}

/** How much is logged. */
export function readLogLevel(text: string, source: string): string {
  if (!logLevels.includes(text)) {
    throw new Error(`${source} must be one of ${logLevels.join(', ')}, got ${text}${didYouMean(text, logLevels)}`);
  }
  return text;
}

/** The URL of a mail server. */
export function readSmtpUrl(text: string, source: string): string {
  const url = text.trim();
  // Not shown: it holds a password.
  if (!isSmtpUrl(url)) throw new Error(`${source} must ${smtpUrlMust}`);
  return url;
}

/** The sender of mails. */
export function readSender(text: string, source: string): string {
  // The value is not shown: the sender and the URL of the mail server are easily swapped.
  if (!senderRule.passes(text)) throw new Error(`${source} must ${senderRule.must}`);
  return text.trim();
}

/** The address of an S3 service. */
export function readEndpoint(text: string, source: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isOrigin = url && ['http:', 'https:'].includes(url.protocol) && url.href === `${url.origin}/`;
  // Not shown: it may contain the keys.
  if (!isOrigin) throw new Error(`${source} must be an http or https address without a path`);
  return url.origin;
}

/** The name of a bucket. */
export function readBucketName(text: string, source: string): string {
  if (!/^[a-z\d](?:[a-z\d.-]{1,61})[a-z\d]$/.test(text) || text.includes('..')) {
    throw new Error(
      `${source} must be the name of a bucket: 3 to 63 lower-case letters, digits, "-" and ".", got ${JSON.stringify(text)}`,
    );
  }
  return text;
}

/** An address to post to. */
export function readWebhook(text: string, source: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  // Not shown: it may hold a secret.
  if (!url || !['http:', 'https:'].includes(url.protocol))
    throw new Error(`${source} must be an http or https address`);
  return url.href;
}

const shortestToken = 16;

/** A token that a client sends as `Bearer`. */
export function readMetricsToken(text: string, source: string): string {
  // Not shown: it is a secret.
  if (!/^[\w.~+/-]+=*$/.test(text) || text.length < shortestToken) {
    throw new Error(
      `${source} must be ${shortestToken} letters, digits and "-._~+/" or more, as a Bearer token is (RFC 6750)`,
    );
  }
  return text;
}

/** An address to listen on: `host:port`, with an IPv6 address in brackets. */
export function readMetricsAddress(text: string, source: string): string {
  const [, host = '', port = ''] = /^(\[[\da-f:.]+\]|[^\s:/[\]]+):(\d+)$/i.exec(text) ?? [];
  if (host === '' || Number(port) > 65_535)
    throw new Error(`${source} must be host:port, such as 127.0.0.1:9464 or [::1]:9464, got ${JSON.stringify(text)}`);
  return text;
}

/** Certificates, in PEM. */
export function readCertificates(text: string, source: string): string {
  try {
    certificatesIn(text);
    return text;
  } catch (error) {
    throw new Error(`${source} must be certificates in PEM: it ${messageOf(error)}`);
  }
}

/** The witnesses of checkpoints: a list of `VERIFIER-KEY=URL`, separated by commas. */
export function readWitnesses(text: string, source: string): string[] {
  const items = readList(text, source);
  const names = items.map((item, index) => {
    try {
      return parseWitness(item).key.name;
    } catch (error) {
      // Not shown: a URL may hold a secret.
      throw new Error(`${source} must be a list of VERIFIER-KEY=URL: entry ${index + 1} ${messageOf(error)}`);
    }
  });
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new Error(`${source} names the witness ${JSON.stringify(twice)} twice`);
  return items;
}

/** `true` or `false`. */
export function readBoolean(text: string, source: string): boolean {
  if (text !== 'true' && text !== 'false')
    throw new Error(`${source} must be true or false, got ${JSON.stringify(text)}`);
  return text === 'true';
}

import type { IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { maxOverlapSeconds } from '../../config/api-keys.ts';
import { counted } from '../../config/counted.ts';
import type { KeyScope } from '../../config/model.ts';
import type { JsonObject } from '../../config/schema.ts';
import { show } from '../../config/suggest.ts';
import type { CommandLine } from '../../server/settings/command.ts';
import { UsageError } from '../../server/settings/settings.ts';
import { configured } from '../data-directory.ts';
import type { createKeyFlags, NoFlags } from '../flags.ts';
import {
  callAsOperator,
  type OperatorAnswer,
  type OperatorRequest,
  reportAnswer,
  reportRefusal,
} from '../operator-connection.ts';
import { printable, printLine, tableOf } from '../terminal.ts';

/** A key as the service shows it. */
type Key = {
  id: string;
  name: string;
  scopes: KeyScope[];
  audit: string[];
  createdAt: string;
  expiresAt: string | null;
  lastUsedAt: string | null;
};

const callMilliseconds = 60_000;

/** `annals api-keys create`: exit 0 done, 1 refused, 2 could not run. Prints the secret. */
export async function createKey({ settings, flags }: CommandLine<typeof createKeyFlags>): Promise<number> {
  const own = await configured(settings);
  if (flags.name === undefined) throw new UsageError('--name is missing');
  const body = {
    name: flags.name,
    scopes: (flags.scope ?? []).map(readScope),
    ...(flags.audit === undefined ? {} : { audit: wordsOf(flags.audit) }),
    ...(flags.expires === undefined ? {} : { expiresAt: flags.expires }),
  };
  return reportSecret(await callAsOperator(own, { path: '/api/keys', body, reason: 'made by annals api-keys create' }));
}

/** `annals api-keys rotate ID`: exit 0 done, 1 refused, 2 could not run. Prints the new secret. */
export async function rotateKey({ settings, flags, words }: CommandLine<{ overlap: 'string' }>): Promise<number> {
  const own = await configured(settings);
  const overlapSeconds = readOverlap(flags.overlap ?? '0');
  const path = `/api/keys/${encodeURIComponent(words[0] ?? '')}/rotate`;
  return reportSecret(await callAsOperator(own, { path, body: { overlapSeconds } }));
}

/** `annals api-keys revoke ID`: exit 0 done, 1 refused, 2 could not run. */
export async function revokeKey({ settings, words }: CommandLine<NoFlags>): Promise<number> {
  const own = await configured(settings);
  const order: OperatorRequest = { path: '/api/operator/keys/revoke', body: { id: words[0] ?? '' } };
  return reportAnswer(await callAsOperator(own, order), ({ id, name }) => printable(`revoked ${id}, ${name}`));
}

/** `annals api-keys list`: exit 0 shown, 2 could not run. */
export async function listKeys(
  { settings, flags }: CommandLine<{ json: 'boolean' }>,
  environment: NodeJS.ProcessEnv,
): Promise<number> {
  const own = await configured(settings);
  const keys: Key[] = [];
  for (let page: number | null = 1; page !== null; ) {
    const receive = async (response: IncomingMessage) => {
      const { docs, nextPage } = (await json(response)) as { docs: Key[]; nextPage: number | null };
      keys.push(...docs);
      page = nextPage;
    };
    const take = { signal: AbortSignal.timeout(callMilliseconds), receive };
    const answered = await callAsOperator(own, { path: `/api/keys?limit=100&page=${page}`, take });
    if (answered.status >= 300) return reportRefusal(answered);
  }
  if (flags.json) return printLine(JSON.stringify({ keys }));
  for (const line of table(keys, environment)) printLine(line);
  return 0;
}

/** Reads `read,update:posts,globals/site`; `*` and `globals/*` stand for all. The service knows what is configured. */
function readScope(text: string): JsonObject {
  const [, operations = '', targets = ''] = /^([^:]*):(.*)$/s.exec(text) ?? [];
  if (operations === '' || targets === '')
    throw new UsageError(`--scope must have the form OPERATIONS:TARGETS such as read:posts, got ${show(text)}`);
  const all = wordsOf(targets);
  const globals = all.filter((one) => one.startsWith('globals/')).map((one) => one.slice('globals/'.length));
  return {
    operations: wordsOf(operations),
    collections: orAll(all.filter((one) => !one.startsWith('globals/'))),
    globals: orAll(globals),
  };
}

function orAll(slugs: string[]): string[] | '*' {
  return slugs.length === 1 && slugs[0] === '*' ? '*' : slugs;
}

function wordsOf(text: string): string[] {
  return text.split(',').map((word) => word.trim());
}

function readOverlap(text: string): number {
  const seconds = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (seconds <= maxOverlapSeconds) return seconds;
  throw new UsageError(`--overlap must be a whole number of seconds from 0 to ${maxOverlapSeconds}, got ${show(text)}`);
}

/** The secret alone goes to standard output, so that a script can keep it. */
function reportSecret(answered: OperatorAnswer): number {
  return reportAnswer(answered, ({ id, name, secret }) => {
    process.stderr.write(printable(`API key ${id}, ${name}: its secret is shown this once`).concat('\n'));
    return String(secret);
  });
}

const titles = ['ID', 'NAME', 'LAST USED', 'EXPIRES', 'RIGHTS'];

function table(keys: readonly Key[], environment: NodeJS.ProcessEnv): string[] {
  if (keys.length === 0) return ['there are no API keys but those of the environment'];
  const rows = keys.map(({ id, name, lastUsedAt, expiresAt, scopes, audit }) => [
    id,
    name,
    lastUsedAt ?? 'never',
    expiresAt ?? 'never',
    [...scopes.map(scopeText), ...(audit.length > 0 ? [`audit ${audit.join(',')}`] : [])].join('  ') || 'none',
  ]);
  return [...tableOf([titles, ...rows], environment), counted(keys.length, 'key')];
}

/** As `--scope` takes it. */
function scopeText({ collections, globals, operations }: KeyScope): string {
  const targets = [
    ...(collections === '*' ? ['*'] : collections),
    ...(globals === '*' ? ['globals/*'] : globals.map((slug) => `globals/${slug}`)),
  ];
  return `${operations.join(',')}:${targets.join(',')}`;
}

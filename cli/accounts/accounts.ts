import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { counted } from '../../config/counted.ts';
import { jsonProblem } from '../../config/fields.ts';
import type { Collection } from '../../config/model.ts';
import type { Json, JsonObject } from '../../config/schema.ts';
import { didYouMean, show, showAll } from '../../config/suggest.ts';
import { logFile } from '../../projections/tables/files.ts';
import { lostNumbers } from '../../server/platform/whole-numbers.ts';
import { isReadAsJson, readingOf } from '../../server/queries/field-texts.ts';
import type { CommandLine } from '../../server/settings/command.ts';
import { type LoadedConfiguration, loadConfiguration } from '../../server/settings/configuration.ts';
import { UsageError } from '../../server/settings/settings.ts';
import { messageOf } from '../../storage/errors.ts';
import { existingLog } from '../data-directory.ts';
import { callAsOperator, reportAnswer } from '../operator-connection.ts';
import { readNewPassword } from '../password-prompt.ts';

/** `annals create-user COLLECTION`: exit 0 done, 1 refused, 2 could not run. Prints the id of the new user. */
export async function createUser(asked: CommandLine<{ email: 'string'; field: 'list' }>): Promise<number> {
  const given = await accountOf(asked);
  const { settings, collection, email } = given;
  const fields = readFields(collection, asked.flags.field ?? []);
  const password = await readNewPassword();
  // Right before the first start, but it may also be the wrong directory.
  if (!existsSync(logFile(resolve(settings.data))))
    process.stderr.write(`${resolve(settings.data)} is a new data directory\n`);
  const reason = 'made by annals create-user';
  const order = { path: `/api/collections/${collection.slug}`, body: { ...fields, email, password }, reason };
  return reportAnswer(await callAsOperator(given, order), ({ id }) => String(id));
}

/** `annals set-password COLLECTION`: exit 0 done, 1 refused, 2 could not run. */
export async function setPassword(asked: CommandLine<{ email: 'string' }>): Promise<number> {
  const given = await accountOf(asked);
  const { settings, collection, email } = given;
  existingLog(settings);
  const password = await readNewPassword();
  const order = { path: '/api/operator/set-password', body: { collection: collection.slug, email, password } };
  return reportAnswer(await callAsOperator(given, order), ({ ended }) => {
    return `set the password of ${email} in ${collection.slug}, ${endedText(Number(ended))}`;
  });
}

/** `annals unlock COLLECTION`: exit 0 done, 1 refused, 2 could not run. */
export async function unlock(asked: CommandLine<{ email: 'string' }>): Promise<number> {
  const given = await accountOf(asked);
  const { settings, collection, email } = given;
  existingLog(settings);
  const order = { path: '/api/operator/unlock', body: { collection: collection.slug, email } };
  return reportAnswer(await callAsOperator(given, order), () => `unlocked ${email} in ${collection.slug}`);
}

/** `annals sessions revoke COLLECTION`: exit 0 done, 1 refused, 2 could not run. */
export async function revokeSessions(asked: CommandLine<{ email: 'string'; session: 'string' }>): Promise<number> {
  const given = await accountOf(asked);
  const { settings, collection, email } = given;
  existingLog(settings);
  const sid = asked.flags.session === undefined ? {} : { sid: asked.flags.session };
  const order = { path: '/api/operator/sessions/revoke', body: { collection: collection.slug, email, ...sid } };
  return reportAnswer(await callAsOperator(given, order), ({ ended }) => {
    return `${endedText(Number(ended))} of ${email}`;
  });
}

function endedText(ended: number): string {
  return ended === 0 ? 'there was no session' : `ended ${counted(ended, 'session')}`;
}

/** The account that a command names, by its collection and `--email`, in the configuration of the service. */
async function accountOf({ settings, flags, words }: CommandLine<{ email: 'string' }>) {
  if (flags.email === undefined) throw new UsageError('--email is missing');
  const loaded = await loadConfiguration(settings.config);
  return { settings, loaded, collection: accountsIn(loaded, words[0] ?? ''), email: flags.email };
}

/** The collection with accounts that a slug names. @throws UsageError if it names no such collection. */
export function accountsIn({ path, model }: LoadedConfiguration, slug: string): Collection {
  const found = model.collections.get(slug);
  if (found?.auth) return found;
  const slugs = [...model.collections.values()].flatMap((one) => (one.auth ? [one.slug] : []));
  const problem = found ? `the collection ${show(slug)} has no accounts` : `there is no collection ${show(slug)}`;
  const known = slugs.length === 0 ? 'no collection has accounts' : `with accounts: ${showAll(slugs)}`;
  throw new UsageError(`${problem} in ${path}${didYouMean(slug, slugs)}; ${known}`);
}

/** Refuses a password as an argument, with the reason, and does not repeat it. */
export function refusePassword(args: readonly string[]): void {
  if (!args.some((argument) => /^--?pass(word)?(=|$)/i.test(argument))) return;
  throw new UsageError(
    'a password is never an argument: others on this machine can see those, and the history of the shell keeps them. ' +
      'It is asked for, or read from standard input',
  );
}

/** Fields that --field does not take, with the sentence that names the right way. */
const elsewhere: Record<string, string> = {
  email: 'is given with --email',
  password: 'is never an argument, which others on this machine can see: it is asked for, or read from standard input',
};

/**
 * Reads arguments of the form `name=value`. @throws UsageError naming every wrong argument. The values are not shown.
 */
function readFields(collection: Collection, args: readonly string[]): JsonObject {
  const values = new Map<string, Json>();
  const problems: string[] = [];
  for (const argument of args) {
    const end = argument.indexOf('=');
    const name = argument.slice(0, end);
    try {
      if (end < 1) throw new UsageError('must have the form name=value');
      if (values.has(name)) throw new UsageError('is given twice');
      values.set(name, readField(collection, name, argument.slice(end + 1)));
    } catch (error) {
      problems.push(`--field ${end < 1 ? '' : `${name} `}${messageOf(error)}`);
    }
  }
  if (problems.length > 0) throw new UsageError(problems.join('\n'));
  return Object.fromEntries(values);
}

function readField({ slug, fields }: Collection, name: string, text: string): Json {
  const sentence = Object.hasOwn(elsewhere, name) ? elsewhere[name] : undefined;
  if (sentence) throw new UsageError(sentence);
  const field = fields.find((one) => one.name === name);
  const reading = field && readingOf(field);
  if (!reading) {
    const names = fields.filter(readingOf).map((one) => one.name);
    throw new UsageError(`is not a field of ${slug} that can be given${didYouMean(name, names)}`);
  }
  const value = reading.read(text);
  // JSON would turn the value into another one.
  if (value === undefined || jsonProblem(value) !== undefined) throw new UsageError(`must ${reading.must}`);
  if (isReadAsJson(field) && lostNumbers(text).length > 0) throw new UsageError('must hold numbers that JSON keeps');
  return value;
}

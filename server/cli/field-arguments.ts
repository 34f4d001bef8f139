import { jsonProblem } from '../../config/fields.ts';
import type { Collection } from '../../config/model.ts';
import type { Json, JsonObject } from '../../config/schema.ts';
import { didYouMean } from '../../config/suggest.ts';
import { messageOf } from '../../storage/errors.ts';
import { lostNumbers } from '../platform/whole-numbers.ts';
import { isReadAsJson, readingOf } from '../queries/field-texts.ts';
import { UsageError } from '../settings/settings.ts';

/** Fields that --field does not take, with the sentence that names the right way. */
const elsewhere: Record<string, string> = {
  email: 'is given with --email',
  password: 'is never an argument, which others on this machine can see: it is asked for, or read from standard input',
};

/**
 * Reads arguments of the form `name=value` as values of a collection's fields.
 *
 * @throws UsageError naming every wrong argument. The values are not shown.
 */
export function readFields(collection: Collection, args: readonly string[]): JsonObject {
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
  // A value that JSON cannot hold would arrive as another one.
  if (value === undefined || jsonProblem(value) !== undefined) throw new UsageError(`must ${reading.must}`);
  if (isReadAsJson(field) && lostNumbers(text).length > 0) throw new UsageError('must hold numbers that JSON keeps');
  return value;
}

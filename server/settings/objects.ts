import { resolve } from 'node:path';
import { didYouMean, show } from '../../config/suggest.ts';
import { messageOf } from '../../storage/errors.ts';
import { bucketDefaults, isNeeded, type Setting, type Settings, type SettingValue } from './settings.ts';

/** The place of an object, and the list that every problem is added to. */
export type ObjectPlace = { at: string; problems: string[] };

/**
 * Reads the settings in an object, by the readers of their environment variables. The keys are the names of the
 * settings; those of a bucket are the names of its parts.
 *
 * @param base the folder of relative paths in it.
 */
export function readObjectSettings(
  said: Record<string, unknown>,
  { at, problems }: ObjectPlace,
  { settings, base }: { settings: readonly Setting[]; base: string },
): Partial<Settings> {
  const own: Record<string, unknown> = {};
  for (const setting of settings) {
    const { name, part } = setting;
    if (part || !(name in said)) continue;
    const value = readValue(setting, said[name], { at: `${at}.${name}`, problems });
    own[name] = isPath(name) ? resolve(base, String(value)) : value;
  }
  if ('bucket' in said) own.bucket = readBucket(said.bucket, { at: `${at}.bucket`, problems }, settings);
  return own;
}

/** The keys that an object of settings may have. */
export function keysOf(settings: readonly Setting[]): string[] {
  return [...settings.filter(({ part }) => !part).map(({ name }) => name), 'bucket'];
}

/** The entries of an object that may have these keys; null, and one more problem, for any other value. */
export function objectIn(
  value: unknown,
  keys: readonly string[],
  { at, problems }: ObjectPlace,
): Record<string, unknown> | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    problems.push(`${at} must be an object, got ${kindOf(value)}`);
    return null;
  }
  for (const key of Object.keys(value)) {
    if (!keys.includes(key))
      problems.push(`${at} has an unknown key ${show(key)}${didYouMean(key, keys)}; known: ${keys.join(', ')}`);
  }
  return Object.fromEntries(Object.entries(value));
}

/** The kind of a value. The value itself is not shown: it may be a secret in the wrong place. */
export function kindOf(value: unknown): string {
  if (value === null || typeof value === 'boolean') return String(value);
  if (value === '') return 'an empty text';
  if (typeof value === 'string') return value.trim() === value ? 'a text' : 'a text with white space around it';
  return typeof value === 'number' ? 'a number' : Array.isArray(value) ? 'a list' : 'an object';
}

function isPath(name: keyof Settings): boolean {
  return name === 'config' || name === 'data';
}

function readBucket(value: unknown, { at, problems }: ObjectPlace, settings: readonly Setting[]): object {
  const parts = settings.flatMap(({ part }) => part ?? []);
  const said = objectIn(value, parts, { at, problems });
  if (!said) return {};
  const bucket: Record<string, unknown> = { ...bucketDefaults };
  for (const setting of settings) {
    const { part } = setting;
    if (!part) continue;
    if (part in said) bucket[part] = readValue(setting, said[part], { at: `${at}.${part}`, problems });
    else if (isNeeded(part)) problems.push(`${at}.${part} is missing`);
  }
  return bucket;
}

function readValue({ name, kind = 'string', read }: Setting, value: unknown, { at, problems }: ObjectPlace): unknown {
  if (kind === 'list') {
    const before = problems.length;
    const without = name === 'witnesses' ? 'there are no witnesses' : 'one is generated';
    const items = readList(value, { at, problems }, without);
    // A comma in a key would separate it when the list is one text.
    if (name !== 'witnesses' || problems.length > before) return items;
    return readText(items.join(','), read, { at, problems });
  }
  if (typeof value !== kind) {
    problems.push(`${at} must be a ${kind === 'string' ? 'text' : kind}, got ${kindOf(value)}`);
    return undefined;
  }
  return readText(String(value), read, { at, problems });
}

function readText(text: string, read: Setting['read'], { at, problems }: ObjectPlace): SettingValue | undefined {
  try {
    return read(text, at);
  } catch (error) {
    problems.push(messageOf(error));
    return undefined;
  }
}

function readList(value: unknown, { at, problems }: ObjectPlace, without: string): string[] {
  if (!Array.isArray(value) || value.length === 0) {
    const got = Array.isArray(value) ? 'an empty one' : kindOf(value);
    problems.push(`${at} must be a list of texts, got ${got}; if it is left out, ${without}`);
    return [];
  }
  return value.map((item, index) => {
    if (typeof item !== 'string' || item === '' || item.trim() !== item)
      problems.push(`${at}[${index}] must be a text without white space around it, got ${kindOf(item)}`);
    return String(item);
  });
}

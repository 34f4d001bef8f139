import { resolve } from 'node:path';
import { didYouMean, show } from '../../config/suggest.ts';
import { messageOf } from '../../storage/errors.ts';
import type { BucketSettings, SettingKind, Settings, SettingValue } from './settings.ts';

/** A setting as a member of an object: `key` is its name there, `read` the reader of the same environment variable. */
export type ObjectSetting = {
  name: keyof Settings;
  /** Which part of `bucket`. */
  part: keyof BucketSettings | undefined;
  key: string;
  /** Whether a bucket requires it. */
  isNeeded: boolean;
  byDefault: SettingValue | undefined;
  kind: SettingKind;
  read: (text: string, source: string) => SettingValue;
};

/** The place of an object, and the list that every problem is added to. */
export type Place = { at: string; problems: string[] };

/**
 * Reads the settings in an object.
 *
 * @param base the folder of relative paths in it.
 */
export function readObjectSettings(
  said: Record<string, unknown>,
  { at, problems }: Place,
  settings: readonly ObjectSetting[],
  base: string,
): Partial<Settings> {
  const own: Record<string, unknown> = {};
  for (const setting of settings) {
    const { name, part, key } = setting;
    if (part || !(key in said)) continue;
    const value = readValue(setting, said[key], { at: `${at}.${key}`, problems });
    own[name] = isPath(name) ? resolve(base, String(value)) : value;
  }
  if ('bucket' in said) own.bucket = readBucket(said.bucket, { at: `${at}.bucket`, problems }, settings);
  return own;
}

/** The keys that an object of settings may have. */
export function keysOf(settings: readonly ObjectSetting[]): string[] {
  return [...settings.filter(({ part }) => !part).map(({ key }) => key), 'bucket'];
}

/** The entries of an object that may have these keys; null, and one more problem, for any other value. */
export function objectIn(
  value: unknown,
  keys: readonly string[],
  { at, problems }: Place,
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

function readBucket(value: unknown, { at, problems }: Place, settings: readonly ObjectSetting[]): object {
  const parts = settings.filter(({ part }) => part);
  const said = objectIn(
    value,
    parts.map(({ key }) => key),
    { at, problems },
  );
  const bucket: Record<string, unknown> = {};
  if (!said) return bucket;
  for (const setting of parts) {
    const { part = '', key, isNeeded, byDefault } = setting;
    if (key in said) bucket[part] = readValue(setting, said[key], { at: `${at}.${key}`, problems });
    else if (isNeeded) problems.push(`${at}.${key} is missing`);
    else if (byDefault !== undefined) bucket[part] = byDefault;
  }
  return bucket;
}

function readValue({ key, kind, read }: ObjectSetting, value: unknown, { at, problems }: Place): unknown {
  if (kind === 'list') {
    const before = problems.length;
    const without = key === 'witnesses' ? 'there are no witnesses' : 'one is generated';
    const items = readList(value, { at, problems }, without);
    // A comma in a key would separate it when the list is one text.
    if (key !== 'witnesses' || problems.length > before) return items;
    return readText(items.join(','), read, { at, problems });
  }
  if (typeof value !== kind) {
    problems.push(`${at} must be a ${kind === 'string' ? 'text' : kind}, got ${kindOf(value)}`);
    return undefined;
  }
  return readText(String(value), read, { at, problems });
}

function readText(text: string, read: ObjectSetting['read'], { at, problems }: Place): SettingValue | undefined {
  try {
    return read(text, at);
  } catch (error) {
    problems.push(messageOf(error));
    return undefined;
  }
}

function readList(value: unknown, { at, problems }: Place, without: string): string[] {
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

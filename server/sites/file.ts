import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { didYouMean, show, showAll } from '../../config/suggest.ts';
import type { BucketSettings, Settings, SettingValue, SiteSettings } from '../settings/settings.ts';
import { clashes } from './clashes.ts';

/** What may be said of a site: `key` is its name in the file, `read` the reader of the same environment variable. */
export type SiteSetting = {
  name: keyof Settings;
  /** Which part of `bucket`. */
  part: keyof BucketSettings | undefined;
  key: string;
  /** Whether a bucket is none without it. */
  isNeeded: boolean;
  byDefault: SettingValue | undefined;
  read: (text: string, source: string) => SettingValue;
};

/** In this form it can stand wherever an id does: in headers, addresses, names of cookies and folders. */
const idForm = /^[a-z\d][a-z\d-]{0,62}$/;
const idMust = 'must be 1 to 63 lower-case letters, digits and "-", and not begin with "-"';

/** Where a value is in the file, and what to do when it is wrong. */
export type Place = { at: string; problems: string[] };

/**
 * Reads the file of sites, a JSON list of objects; relative paths in it are relative to the file.
 *
 * @param common what holds for a site that does not say it: its data is below `common.data`, under its id.
 * @param problems every problem is added to them, each naming its place, none showing a secret.
 */
export function readSites(
  path: string,
  settings: readonly SiteSetting[],
  common: Settings,
  problems: string[],
): SiteSettings[] {
  const file = resolve(path);
  const before = problems.length;
  const entries = entriesOf(file, problems);
  const sites = entries.map((entry, index): SiteSettings => {
    const said = readSite(entry, { at: `${file}: [${index}]`, problems }, settings, dirname(file));
    const { id } = said;
    return { ...common, data: join(common.data, id), ...said.settings, site: id, sites: null };
  });
  if (problems.length === before) problems.push(...clashes(sites, file));
  return sites;
}

/** The site with an id that a command was given; undefined, with a problem more, where there is none. */
export function siteCalled(sites: readonly SiteSettings[], id: unknown, problems: string[]): SiteSettings | undefined {
  const found = sites.find(({ site }) => site === id);
  const known = showAll(sites.map(({ site }) => site));
  if (found) return found;
  if (id === undefined) problems.push(`--site is missing: ANNALS_SITES is set; known: ${known}`);
  else
    problems.push(
      `there is no site ${show(id)}${didYouMean(
        id,
        sites.map(({ site }) => site),
      )}; known: ${known}`,
    );
  return undefined;
}

function entriesOf(file: string, problems: string[]): unknown[] {
  const parsed = parse(file, problems);
  if (parsed === undefined) return [];
  if (Array.isArray(parsed) && parsed.length > 0) return parsed;
  const got = Array.isArray(parsed) ? 'an empty list' : kindOf(parsed);
  problems.push(`${file}: it must be a list of sites, [{ "id": "…", "config": "…" }], got ${got}`);
  return [];
}

function parse(file: string, problems: string[]): unknown {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    problems.push(`ANNALS_SITES: ${code === 'ENOENT' ? 'there is no file' : `${code}, cannot read`} ${file}`);
    return undefined;
  }
  try {
    return JSON.parse(text);
  } catch {
    problems.push(`${file} is not JSON: ${breakIn(text)}`);
    return undefined;
  }
}

/** Where a text stops being JSON. What the engine says of it shows a piece of the text, and there are keys in it. */
function breakIn(text: string): string {
  let [whole, broken] = [0, text.length];
  // The longest part that could still go on as JSON.
  while (whole < broken) {
    const middle = Math.ceil((whole + broken) / 2);
    if (isBegun(text.slice(0, middle))) whole = middle;
    else broken = middle - 1;
  }
  if (whole === text.length) return 'it ends too early';
  const lines = text.slice(0, whole).split('\n');
  return `line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1}`;
}

function isBegun(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch (error) {
    const { message } = error as Error;
    const position = /at position (\d+)/.exec(message)?.[1];
    return position === undefined
      ? /end of JSON input/.test(message)
      : Number(position) >= text.length || /Unterminated/.test(message);
  }
}

/** What is said of a site; an id that is wrong is the empty text. */
function readSite(entry: unknown, { at, problems }: Place, settings: readonly SiteSetting[], base: string) {
  const said = objectIn(entry, ['id', ...keysOf(settings)], { at, problems });
  if (!said) return { id: '', settings: {} };
  const { id } = said;
  const isId = typeof id === 'string' && idForm.test(id);
  if (!('id' in said)) problems.push(`${at}.id is missing`);
  else if (!isId) problems.push(`${at}.id ${idMust}, got ${show(id)}`);
  return { id: isId ? id : '', settings: readGiven(said, { at, problems }, settings, base) };
}

/** Reads what an object says of settings. @param base what a relative path in it is relative to. */
export function readGiven(
  said: Record<string, unknown>,
  { at, problems }: Place,
  settings: readonly SiteSetting[],
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

function isPath(name: keyof Settings): boolean {
  return name === 'config' || name === 'data';
}

/** The keys that an object of settings may have. */
export function keysOf(settings: readonly SiteSetting[]): string[] {
  return [...settings.filter(({ part }) => !part).map(({ key }) => key), 'bucket'];
}

function readBucket(value: unknown, { at, problems }: Place, settings: readonly SiteSetting[]): object {
  const parts = settings.filter(({ part }) => part);
  const said = objectIn(
    value,
    parts.map(({ key }) => key),
    { at, problems },
  );
  const bucket: Record<string, unknown> = {};
  for (const setting of said ? parts : []) {
    const { part = '', key, isNeeded, byDefault } = setting;
    if (said && key in said) bucket[part] = readValue(setting, said[key], { at: `${at}.${key}`, problems });
    else if (isNeeded) problems.push(`${at}.${key} is missing`);
    else if (byDefault !== undefined) bucket[part] = byDefault;
  }
  return bucket;
}

/** The entries of an object that may have these keys; null, with a problem more, for what is none. */
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

/** Settings that are no texts in JSON, by their key. */
const kinds: Record<string, 'list' | 'boolean' | 'number'> = {
  apiKeys: 'list',
  secrets: 'list',
  pathStyle: 'boolean',
  checkpointDays: 'number',
};

function readValue({ key, read }: SiteSetting, value: unknown, { at, problems }: Place): unknown {
  const kind = kinds[key] ?? 'string';
  if (kind === 'list') return readList(value, { at, problems });
  if (typeof value !== kind) {
    problems.push(`${at} must be a ${kind === 'string' ? 'text' : kind}, got ${kindOf(value)}`);
    return undefined;
  }
  try {
    return read(String(value), at);
  } catch (error) {
    problems.push((error as Error).message);
    return undefined;
  }
}

function readList(value: unknown, { at, problems }: Place): string[] {
  if (!Array.isArray(value) || value.length === 0) {
    const got = Array.isArray(value) ? 'an empty one' : kindOf(value);
    problems.push(`${at} must be a list of texts, got ${got}; where it is left out one is generated`);
    return [];
  }
  return value.map((item, index) => {
    if (typeof item !== 'string' || item === '' || item.trim() !== item)
      problems.push(`${at}[${index}] must be a text without white space around it, got ${kindOf(item)}`);
    return String(item);
  });
}

/** What came, without showing it: in this file there are secrets, and they may stand in the wrong place. */
function kindOf(value: unknown): string {
  if (value === null || typeof value === 'boolean') return String(value);
  if (value === '') return 'an empty text';
  if (typeof value === 'string') return value.trim() === value ? 'a text' : 'one with white space';
  return typeof value === 'number' ? 'a number' : Array.isArray(value) ? 'a list' : 'an object';
}

import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { didYouMean, show, showAll } from '../../config/suggest.ts';
import { codeOf, messageOf } from '../../storage/errors.ts';
import { keysOf, kindOf, type ObjectPlace, objectIn, readObjectSettings } from './objects.ts';
import { type Settings, type SiteSettings, siteSettings } from './settings.ts';
import { clashes } from './site-clashes.ts';

/** The form of an id that is valid in headers, addresses, and the names of cookies and folders. */
const idForm = /^[a-z\d][a-z\d-]{0,62}$/;
const idMust = 'must be 1 to 63 lower-case letters, digits and "-", and not begin with "-"';

/**
 * Reads the file of sites, a JSON list of objects; paths in it are relative to the file.
 *
 * @param common the defaults; the default data directory of a site is its id below `common.data`.
 * @param problems gets every problem, with its place and without secrets.
 */
export function readSites(path: string, common: Settings, problems: string[]): SiteSettings[] {
  const file = resolve(path);
  const before = problems.length;
  const entries = entriesOf(file, problems);
  const sites = entries.map((entry, index): SiteSettings => {
    const said = readSite(entry, { at: `${file}: [${index}]`, problems }, dirname(file));
    const { id } = said;
    return { ...common, data: join(common.data, id), ...said.settings, site: id, sites: null };
  });
  if (problems.length === before) problems.push(...clashes(sites, file));
  return sites;
}

/**
 * The site with the id of a command line; undefined, and one more problem, without such a site.
 *
 * @param sites null without a file of sites.
 */
export function siteCalled(
  sites: readonly SiteSettings[] | null,
  id: string | undefined,
  problems: string[],
): SiteSettings | undefined {
  const found = sites?.find(({ site }) => site === id);
  if (found) return found;
  if (!sites) problems.push('--site names one of the sites of ANNALS_SITES, which is not set');
  else {
    const ids = sites.map(({ site }) => site);
    const problem =
      id === undefined
        ? '--site is missing: ANNALS_SITES is set'
        : `there is no site ${show(id)}${didYouMean(id, ids)}`;
    problems.push(`${problem}; known: ${showAll(ids)}`);
  }
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
    const code = codeOf(error);
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

/**
 * The place where a text stops being JSON. The engine's own message shows a piece of the text, which has keys in it.
 */
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
    const message = messageOf(error);
    const position = /at position (\d+)/.exec(message)?.[1];
    return position === undefined
      ? /end of JSON input/.test(message)
      : Number(position) >= text.length || /Unterminated/.test(message);
  }
}

/** The settings of a site; an invalid id becomes the empty text. */
function readSite(entry: unknown, { at, problems }: ObjectPlace, base: string) {
  const said = objectIn(entry, ['id', ...keysOf(siteSettings)], { at, problems });
  if (!said) return { id: '', settings: {} };
  const { id } = said;
  const isId = typeof id === 'string' && idForm.test(id);
  if (!('id' in said)) problems.push(`${at}.id is missing`);
  else if (!isId) problems.push(`${at}.id ${idMust}, got ${show(id)}`);
  return { id: isId ? id : '', settings: readObjectSettings(said, { at, problems }, { settings: siteSettings, base }) };
}

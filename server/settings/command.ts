import { readFileSync } from 'node:fs';
import { didYouMean } from '../../config/suggest.ts';
import { messageOf } from '../../storage/errors.ts';
import { type Flags, type FlagValues, readFlags } from './flags.ts';
import { isServiceLink } from './service-links.ts';
import {
  bucketDefaults,
  defaultSettings,
  isNeeded,
  type Setting,
  type Settings,
  settings,
  sitesVariable,
  UsageError,
} from './settings.ts';
import { readSites, siteCalled } from './sites-file.ts';

/** The settings, flags and words of a command line; the command takes each word by its position. */
export type CommandLine<F extends Flags> = {
  settings: Settings;
  flags: { [name in keyof F]?: FlagValues[F[name]] };
  words: string[];
};

/** The settings, flags and words that a command takes. */
export type Takes<F extends Flags> = {
  /** The settings that the command has a flag for. */
  settings: readonly (keyof Settings)[];
  /** The other flags of the command. */
  flags?: F;
  /**
   * The arguments without a flag, as the usage names them: `COLLECTION` is required, `[FILE]` is optional,
   * `[COLLECTION…]` stands for any number.
   */
  words?: readonly string[];
};

/** The `ANNALS_…` variables that are set, and the list that every problem is added to. */
type Reading = { variables: Record<string, string>; problems: string[] };

/**
 * Reads the settings of a command: its flags win over the environment, the environment over the defaults.
 *
 * @throws UsageError naming every unknown flag, every unknown or wrong `ANNALS_…` variable, and every word that is
 *   missing or too many.
 */
export function readSettings<const F extends Flags = Record<never, never>>(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
  { settings: taken, flags, words = [] }: Takes<F>,
): CommandLine<F> {
  const problems: string[] = [];
  const own = settings.filter(({ name, flag }) => flag && taken.includes(name));
  // A command for all sites takes no --site.
  const isForOne = !taken.includes('sites');
  const known: Flags = {
    help: 'boolean',
    ...flags,
    ...Object.fromEntries(own.map(({ flag, kind }) => [flag, kind === 'boolean' ? 'boolean' : 'string'])),
    ...(isForOne && { site: 'string' }),
  };
  const { values, positionals } = readFlags(args, known, problems);
  const most = words.at(-1)?.endsWith('…]') ? positionals.length : words.length;
  for (const word of positionals.slice(most)) problems.push(`unexpected argument ${JSON.stringify(word)}`);
  for (const name of words.slice(positionals.length)) if (!name.startsWith('[')) problems.push(`${name} is missing`);
  const reading = { variables: readEnvironment(environment, problems), problems };
  const flagged = readFlagged(own, values, problems);
  const given = {
    ...defaultSettings,
    isProduction: environment.NODE_ENV === 'production',
    ...readVariables(reading, flagged),
  };
  const read: Settings = isForOne
    ? { ...oneSite(given, reading, values.site), ...flagged }
    : allSites({ ...given, ...flagged }, reading);
  if (problems.length > 0) throw new UsageError(problems.join('\n'));
  return { settings: read, flags: values as CommandLine<F>['flags'], words: positionals };
}

/** @param flagged the settings from flags: their variables are not read. */
function readVariables({ variables: given, problems }: Reading, flagged: object): Partial<Settings> {
  const result: Record<string, unknown> = {};
  const bucket: Record<string, unknown> = {};
  for (const { name, part, environment, read, ofSite } of settings) {
    const text = given[environment];
    if (text === undefined || name === 'sites' || name in flagged) continue;
    if (ofSite === 'only' && sitesVariable in given) {
      problems.push(`${environment} and ${sitesVariable} are both set: it belongs to a site, in the file of sites`);
      continue;
    }
    noting(problems, () => {
      const value = read(text, environment);
      if (part) bucket[part] = value;
      else result[name] = value;
    });
  }
  for (const name of ['ANNALS_READS', 'ANNALS_NODE', 'ANNALS_APPLY_SCHEMA'])
    if (name in given && !('ANNALS_POSTGRES_URL' in given))
      problems.push(`${name} is set, and ANNALS_POSTGRES_URL is not: it is for nodes`);
  if ('applySchema' in flagged && !('ANNALS_POSTGRES_URL' in given))
    problems.push('--apply-schema is given, and ANNALS_POSTGRES_URL is not set: it is for nodes');
  if (Object.keys(bucket).length > 0) result.bucket = wholeBucket(bucket, given, problems);
  return result;
}

function readFlagged(
  own: readonly Setting[],
  values: Record<string, unknown>,
  problems: string[],
): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const { name, flag = '', read } of own) {
    const text = values[flag] === true ? 'true' : values[flag];
    if (typeof text === 'string') noting(problems, () => Object.assign(result, { [name]: read(text, `--${flag}`) }));
  }
  return result;
}

function noting(problems: string[], run: () => void): void {
  try {
    run();
  } catch (error) {
    problems.push(messageOf(error));
  }
}

/** Adds the sites of the file, if there is one. */
function allSites(common: Settings, { variables, problems }: Reading): Settings {
  const path = variables[sitesVariable];
  if (path === undefined) return common;
  if (path.trim() === '') problems.push(`${sitesVariable} is empty`);
  else return { ...common, sites: readSites(path, common, problems) };
  return common;
}

/** The settings of the site that a command is for. */
function oneSite(common: Settings, reading: Reading, id: unknown): Settings {
  const { problems } = reading;
  const before = problems.length;
  const { sites } = allSites(common, reading);
  // Problems of the file come first: a missing site may follow from them.
  if (problems.length > before || (!sites && id === undefined)) return common;
  return siteCalled(sites, typeof id === 'string' ? id : undefined, problems) ?? common;
}

function readEnvironment(environment: NodeJS.ProcessEnv, problems: string[]): Record<string, string> {
  const known = settings.map(({ environment: variable }) => variable);
  const result: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    if (!name.startsWith('ANNALS_') || value === undefined || isServiceLink(name, value)) continue;
    const variable = name.endsWith('_FILE') ? name.slice(0, -'_FILE'.length) : name;
    if (variable === 'ANNALS_LOG') {
      problems.push(`unknown environment variable ${name}: the address of PostgreSQL is in ANNALS_POSTGRES_URL`);
    } else if (!known.includes(variable)) {
      problems.push(`unknown environment variable ${name}${didYouMean(name, known)}; known: ${known.join(', ')}`);
    } else if (name !== variable && environment[variable] !== undefined) {
      problems.push(`${variable} and ${name} are both set; set one of them`);
    } else if (name === variable) result[variable] = value;
    else {
      try {
        result[variable] = readFileSync(value, 'utf8').trim();
      } catch {
        problems.push(`${name}: the file ${value} cannot be read`);
      }
    }
  }
  return result;
}

/** If one variable of a bucket is set, all those without a default must be. */
function wholeBucket(parts: object, given: Record<string, string>, problems: string[]): object {
  const known = settings.filter(({ part }) => part);
  const first = known.find(({ environment }) => environment in given);
  for (const { part, environment } of known) {
    if (environment in given || !part || !isNeeded(part)) continue;
    problems.push(`${environment} is missing: with ${first?.environment} uploads are kept in a bucket`);
  }
  return { ...bucketDefaults, ...parts };
}

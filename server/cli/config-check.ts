import { ConfigError } from '../../config/check.ts';
import { counted } from '../../config/counted.ts';
import type { Model } from '../../config/model.ts';
import type { Rules } from '../../config/schema.ts';
import { lookAhead, type Outlook } from '../../projections/look-ahead.ts';
import { showProgress } from '../platform/progress.ts';
import { readSettings } from '../settings/command.ts';
import { loadConfiguration } from '../settings/configuration.ts';
import { type Settings, UsageError } from '../settings/settings.ts';
import { siteCalled } from '../settings/sites-file.ts';
import { readConditions } from '../webhooks/conditions.ts';
import { existingLog, startErrorOf } from './data.ts';
import { printable, printLine } from './terminal.ts';

/** `annals config check`: exit 0 valid; otherwise exit 2 and every problem is printed. Checks each of several sites. */
export async function configCheck(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const own = { site: 'string', against: 'string', rules: 'boolean', 'strict-schema': 'boolean' } as const;
  const { settings, flags } = readSettings(args, environment, {
    settings: ['config', 'strictSchema', 'sites'],
    flags: own,
  });
  const chosen = sitesFor(settings, flags.site);
  if (flags['strict-schema'] && flags.against === undefined)
    throw new UsageError('--strict-schema needs --against: it is about what a start on that data would change');
  if (flags.against !== undefined && chosen.length > 1)
    throw new UsageError('--against names the data of one site: --site says of which');
  const problems: string[] = [];
  for (const one of chosen) {
    const name = one.site === null ? '' : `${one.site}: `;
    try {
      problems.push(...(await check(one, name, flags)));
    } catch (error) {
      if (one.site === null || !(error instanceof ConfigError || error instanceof UsageError)) throw error;
      problems.push(`${name}${error.message}`);
    }
  }
  if (problems.length === 0) return 0;
  process.stderr.write(`${problems.join('\n')}\n`);
  return 2;
}

function sitesFor(settings: Settings, id: string | undefined): readonly Settings[] {
  const { sites } = settings;
  if (id === undefined) return sites ?? [settings];
  const problems: string[] = [];
  const found = siteCalled(sites, id, problems);
  if (!found) throw new UsageError(problems.join('\n'));
  return [found];
}

type Asked = { against?: string; rules?: boolean };

/** Prints the results for a valid configuration; resolves with the reasons why a start on the data would be refused. */
async function check(settings: Settings, name: string, flags: Asked): Promise<string[]> {
  const { config, strictSchema, isProduction } = settings;
  const { path, model } = await loadConfiguration(config);
  await readConditions(model, isProduction);
  for (const warning of model.warnings) printLine(`warning: ${name}${warning}`);
  printLine(
    `${name}${path} is right: ${counted(model.collections.size, 'collection')}, ${counted(model.globals.size, 'global')}`,
  );
  if (flags.rules) for (const line of linesOf(model.rules)) printLine(`${name}${line}`);
  return flags.against === undefined
    ? []
    : checkAgainst({ ...settings, data: flags.against }, { name, model, isStrict: strictSchema });
}

function linesOf(rules: Rules): string[] {
  return Object.entries(rules).map(([rule, { sha256, description }]) => {
    return `${rule}  ${sha256}${description === undefined ? '' : `  ${printable(description)}`}`;
  });
}

type Checked = { name: string; model: Model; isStrict: boolean };

function checkAgainst(settings: Settings, { name, model, isStrict }: Checked): string[] {
  const directory = existingLog(settings, '--against');
  const { isChanged, hasOtherRules, problems, changes, returning } = outlook(directory, model);
  for (const line of returning) printLine(`note: ${name}${line}`);
  if (!isStrict) for (const line of changes) printLine(`warning: ${name}${line}`);
  const refused = [...problems, ...(isStrict ? changes : [])];
  const same = hasOtherRules ? 'a start records other rules' : 'it has the schema of the configuration';
  const outcome = isChanged ? 'a start records another schema' : same;
  printLine(`${name}${directory}: ${refused.length > 0 ? 'a start is refused' : outcome}`);
  return refused.map((line) => `${name}${line}`);
}

function outlook(directory: string, model: Model): Outlook {
  try {
    return lookAhead(directory, model, showProgress('replaying the log'));
  } catch (error) {
    throw startErrorOf(error, (message) => `${directory} cannot be looked at: ${message}; annals verify says more`);
  }
}

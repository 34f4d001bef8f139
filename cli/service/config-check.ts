import { resolve } from 'node:path';
import { ConfigError } from '../../config/check.ts';
import { counted } from '../../config/counted.ts';
import type { Model } from '../../config/model.ts';
import type { Rules } from '../../config/schema.ts';
import { type DryStart, dryStart, refusedOf } from '../../projections/start/dry-start.ts';
import { showProgress } from '../../server/platform/progress.ts';
import type { CommandLine } from '../../server/settings/command.ts';
import { loadConfiguration } from '../../server/settings/configuration.ts';
import { type Settings, UsageError } from '../../server/settings/settings.ts';
import { siteCalled } from '../../server/settings/sites-file.ts';
import { readConditions } from '../../server/webhooks/conditions.ts';
import { readableLog, startErrorOf } from '../data-directory.ts';
import type { configCheckFlags } from '../flags.ts';
import { printable, printLine } from '../terminal.ts';

/** `annals config check`: exit 0 valid; otherwise exit 2 and every problem is printed. Checks each of several sites. */
export async function configCheck({ settings, flags }: CommandLine<typeof configCheckFlags>): Promise<number> {
  const chosen = sitesFor(settings, flags.site);
  for (const flag of ['strict-schema', 'accept-loss'] as const) {
    if (flags[flag] && flags.against === undefined)
      throw new UsageError(`--${flag} needs --against: it is about what a start on that data would change`);
  }
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

type CheckOptions = { against?: string; rules?: boolean };

/** Prints the results for a valid configuration; resolves with the reasons why a start on the data would be refused. */
async function check(settings: Settings, name: string, flags: CheckOptions): Promise<string[]> {
  const { config, isProduction } = settings;
  const { path, model } = await loadConfiguration(config);
  await readConditions(model, isProduction);
  for (const warning of model.warnings) printLine(`warning: ${name}${warning}`);
  for (const line of linesAboutHistory(name, model)) printLine(line);
  printLine(
    `${name}${path} is right: ${counted(model.collections.size, 'collection')}, ${counted(model.globals.size, 'global')}`,
  );
  if (flags.rules) for (const line of linesOf(model.rules)) printLine(`${name}${line}`);
  return flags.against === undefined ? [] : checkAgainst({ ...settings, data: flags.against }, name, model);
}

/** How many rules a line names. */
const mostNamed = 3;

/** Tells how far the history shows hidden values, which the rules for reading alone do not say. */
function linesAboutHistory(name: string, { rules, audit, adminCollection }: Model): string[] {
  const reading = Object.keys(rules).filter((rule) => rule.endsWith('.read'));
  if (reading.length === 0) return [];
  const more = reading.length > mostNamed ? ` and ${reading.length - mostNamed} more` : '';
  const named = `${reading.slice(0, mostNamed).join(', ')}${more}`;
  if (audit)
    return [
      `note: ${name}audit: callers to whom it grants payloads see in the history also what others may not read (${named})`,
    ];
  if (adminCollection === null) return [];
  return [
    `warning: ${name}audit: there is no rule, so users of ${adminCollection} see in the history only what they may read today (${named}), ` +
      'and nothing that deleted documents held; API keys see everything',
  ];
}

function linesOf(rules: Rules): string[] {
  return Object.entries(rules).map(([rule, { sha256, description }]) => {
    return `${rule}  ${sha256}${description === undefined ? '' : `  ${printable(description)}`}`;
  });
}

function checkAgainst(settings: Settings, name: string, model: Model): string[] {
  const directory = resolve(settings.data);
  const { isChanged, hasOtherRules, problems, changes, returning } = outlook(settings, model);
  for (const line of returning) printLine(`note: ${name}${line}`);
  const how = { isStrict: settings.strictSchema, acceptsLoss: settings.acceptLoss };
  const refused = refusedOf({ problems, changes }, how);
  for (const { line } of changes) if (!refused.includes(line)) printLine(`warning: ${name}${line}`);
  const same = hasOtherRules ? 'a start records other rules' : 'it has the schema of the configuration';
  const outcome = isChanged ? 'a start records another schema' : same;
  printLine(`${name}${directory}: ${refused.length > 0 ? 'a start is refused' : outcome}`);
  return refused.map((line) => `${name}${line}`);
}

function outlook(settings: Settings, model: Model): DryStart {
  const { directory, done } = readableLog(settings, { withTables: true, flag: '--against' });
  try {
    return dryStart(directory, model, showProgress('replaying the log'));
  } catch (error) {
    const data = resolve(settings.data);
    throw startErrorOf(error, (message) => `${data} cannot be looked at: ${message}; annals verify says more`);
  } finally {
    done();
  }
}

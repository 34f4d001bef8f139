import { commit, installation, version } from '../server/platform/version.ts';
import { readFlags } from '../server/settings/flags.ts';
import { UsageError } from '../server/settings/settings.ts';
import { sqliteVersion } from '../storage/sqlite.ts';
import { printLine } from './terminal.ts';

/** `annals --version`. A wrong environment must not keep it from being told. */
export function printVersion(args: readonly string[]): number {
  const problems: string[] = [];
  const { values, positionals } = readFlags(args, { help: 'boolean', json: 'boolean' }, problems);
  for (const word of positionals) problems.push(`unexpected argument ${JSON.stringify(word)}`);
  if (problems.length > 0) throw new UsageError(problems.join('\n'));
  return printLine(values.json ? JSON.stringify(facts()) : version());
}

function facts() {
  return {
    version: version(),
    commit: commit(),
    installation: installation(),
    node: process.versions.node,
    sqlite: sqliteVersion(),
    platform: process.platform,
    arch: process.arch,
  };
}

import { ConfigError } from '../config/check.ts';
import { nearest, show } from '../config/suggest.ts';
import { SegmentUnreachableError } from '../events/segments/offloaded.ts';
import { adviceOn, advised } from '../server/platform/advice.ts';
import { version } from '../server/platform/version.ts';
import { UsageError } from '../server/settings/settings.ts';
import { StartError } from '../server/writer/writer.ts';
import { BlobsRefusedError, BlobsUnavailableError } from '../storage/blobs.ts';
import { UnwritableError } from '../storage/data-directory.ts';
import { messageOf } from '../storage/errors.ts';
import { LockedError } from '../storage/lock.ts';
import { isDiskFull } from '../storage/sqlite.ts';
import type { CliCommand } from './command.ts';
import { commands } from './commands.ts';
import { CallError, Cancelled } from './errors.ts';
import { printLine } from './terminal.ts';

const site = `With several sites (ANNALS_SITES), --site ID names the one to use. Its settings come from the file of sites; flags
override them.`;

/**
 * Runs a command line and resolves with the exit code: 0 done, 1 refused or unsound, 2 wrong usage or could not run.
 */
export async function run(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const [given = 'help', second] = args;
  const first = given === '--version' ? 'version' : given;
  if (['help', '--help', '-h'].includes(first)) return printLine(help());
  const both = second === undefined || second.startsWith('-') ? first : `${first} ${second}`;
  // `export` is a command, and so is `export content`.
  const name = Object.hasOwn(commands, first) && !Object.hasOwn(commands, both) ? first : both;
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!command) return fail(unknownCommand(first, both));
  const rest = args.slice(name.split(' ').length);
  if (rest.includes('--help') || rest.includes('-h')) return printLine(usageOf(command));
  try {
    return await command.run(rest, environment);
  } catch (error) {
    return explain(error, name);
  }
}

/** The refusal of a command: names the nearest one, or those that begin with the same word. */
function unknownCommand(first: string, both: string): string {
  const names = Object.keys(commands);
  // `annals keys` is `annals api-keys` now.
  const before = first === 'keys' ? 'api-' : '';
  const group = names.filter((name) => name.startsWith(`${before}${first} `));
  const isGroup = group.length > 0 && both === first;
  const ofBoth = isGroup ? undefined : nearest(before + both, names);
  const found = isGroup ? undefined : (ofBoth ?? nearest(first, names));
  const given = show(group.length > 0 || ofBoth !== undefined ? both : first);
  const near = found ? [found] : group;
  const hint = found ? `; did you mean ${show(found)}?` : '';
  const lines = near.length > 1 ? [`there are: annals ${near.join(', annals ')}`] : near.map(inList);
  return [`unknown command ${given}${hint}`, ...lines, 'annals help lists all commands'].join('\n');
}

function inList(name: string): string {
  return `annals ${name}: ${commands[name]?.summary ?? ''}`;
}

function usageOf({ usage, isForAllSites }: CliCommand): string {
  return isForAllSites ? usage : `${usage}\n\n${site}`;
}

function help(): string {
  const width = Math.max(...Object.keys(commands).map(({ length }) => length)) + 1;
  const lines = Object.entries(commands).map(([name, { summary }]) => `  annals ${name.padEnd(width)} ${summary}`);
  return `Annals ${version()}: a content service over a verifiable log\n\n${lines.join('\n')}\n\nannals COMMAND --help shows the usage of a command.`;
}

/** Errors whose message is for the operator. */
const told = [
  BlobsRefusedError,
  BlobsUnavailableError,
  SegmentUnreachableError,
  CallError,
  Cancelled,
  ConfigError,
  LockedError,
  StartError,
  UnwritableError,
];

/** Codes of errors whose message is enough: it names the problem, and the file or address. */
const plain = new Set(['EACCES', 'EADDRNOTAVAIL', 'ENOSPC', 'ENOTFOUND', 'EPERM', 'EROFS', 'SQLITE_NOTADB']);

function explain(error: unknown, name: string): number {
  if (error instanceof UsageError) return fail(`${error.message}\n\nannals ${name} --help shows the usage`);
  if (told.some((kind) => error instanceof kind)) return fail(messageOf(error));
  if (isDiskFull(error)) return fail(`there is no room on the disk for annals ${name}`);
  if (error instanceof Error && adviceOn(error) !== null) return fail(advised(error));
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'EADDRINUSE') return fail('the port is in use; --port takes another one, --port 0 any free one');
  if (plain.has(code)) return fail(messageOf(error));
  return fail(error instanceof Error ? (error.stack ?? error.message) : String(error));
}

/** Prints why the command could not run; exit code 2. */
function fail(text: string): number {
  process.stderr.write(`${text}\n`);
  return 2;
}

import { ConfigError } from '../config/check.ts';
import { didYouMean } from '../config/suggest.ts';
import { LockedError } from '../storage/lock.ts';
import { isDiskFull } from '../storage/sqlite.ts';
import { configCheck, rebuild, verify } from './commands.ts';
import { serve } from './serve.ts';
import { UsageError } from './settings.ts';
import { StartError } from './threads/writer.ts';
import { version } from './version.ts';

type Command = {
  summary: string;
  usage: string;
  run: (args: readonly string[], environment: NodeJS.ProcessEnv) => Promise<number>;
};

const commands: Record<string, Command> = {
  serve: {
    summary: 'run the service',
    usage: `annals serve [--config FILE] [--data DIR] [--host H] [--port N] [--threads N]

  --config FILE  the configuration (default: annals.config.ts here, else the example)
  --data DIR     where everything is kept (default: ./data)
  --host H       address to listen on (default: 127.0.0.1)
  --port N       port to listen on; 0 takes a free one (default: 4000)
  --threads N    threads that answer requests (default: as many as there are cores; on Linux only, elsewhere 1)

Environment, each also as …_FILE: ANNALS_CONFIG, ANNALS_DATA, ANNALS_HOST, ANNALS_PORT, ANNALS_THREADS,
ANNALS_BASE_URL, ANNALS_API_KEY and ANNALS_SECRET (comma-separated lists), ANNALS_LOG_LEVEL (fatal, error, warn, info, debug, silent).`,
    run: serve,
  },
  verify: {
    summary: 'check the log and that the read tables equal a replay of it',
    usage: `annals verify [--config FILE] [--data DIR]

Reads the whole log: positions, versions, times, the tree, the commitments to every payload, the claims; then replays it
and compares the read tables row by row. Works beside a running server. Nothing is changed.

Exit code 0: sound. 1: tampered with or different, the first bad event is named. 2: could not run.`,
    run: verify,
  },
  rebuild: {
    summary: 'build the read tables anew from the log',
    usage: `annals rebuild [--config FILE] [--data DIR] [--check] [--accept-lost-events]

  --check               compare the read tables with a replay and change nothing: exit 0 equal, 1 different
  --accept-lost-events  the log is shorter than what the read tables have seen (a restored backup, a damaged disk):
                        go on with the log as it is`,
    run: rebuild,
  },
  'config check': {
    summary: 'check a configuration and print every problem',
    usage: 'annals config check [--config FILE]',
    run: configCheck,
  },
};

/**
 * Runs a command line and resolves with the exit code: 0 done, 1 refused or unsound, 2 wrong usage or could not run.
 */
export async function run(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const [first = 'help', second] = args;
  if (first === '--version' || first === 'version') return print(version());
  if (['help', '--help', '-h'].includes(first)) return print(help());
  const name = Object.hasOwn(commands, first) ? first : `${first} ${second ?? ''}`.trim();
  const command = Object.hasOwn(commands, name) ? (commands[name] as Command) : undefined;
  if (!command)
    return fail(`unknown command ${JSON.stringify(name)}${didYouMean(name, Object.keys(commands))}\n\n${help()}`, 2);
  const rest = args.slice(name.split(' ').length);
  if (rest.includes('--help') || rest.includes('-h')) return print(command.usage);
  try {
    return await command.run(rest, environment);
  } catch (error) {
    return explain(error, name);
  }
}

function help(): string {
  const lines = Object.entries(commands).map(([name, { summary }]) => `  annals ${name.padEnd(13)} ${summary}`);
  return `Annals ${version()}: a content service over a verifiable log\n\n${lines.join('\n')}\n\nannals COMMAND --help says more.`;
}

function explain(error: unknown, name: string): number {
  if (error instanceof UsageError) return fail(`${error.message}\n\nannals ${name} --help shows the usage`, 2);
  if (error instanceof ConfigError) return fail(error.message, 2);
  if (error instanceof LockedError || error instanceof StartError) return fail(error.message, 2);
  if (isDiskFull(error)) return fail(`there is no room on the disk for annals ${name}`, 2);
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'EADDRINUSE') return fail('the port is in use; --port takes another one, --port 0 any free one', 2);
  if (code === 'EACCES' || code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EPERM' || code === 'ENOSPC') {
    return fail((error as Error).message, 2);
  }
  return fail(error instanceof Error ? (error.stack ?? error.message) : String(error), 2);
}

function print(text: string): number {
  process.stdout.write(`${text}\n`);
  return 0;
}

function fail(text: string, code: number): number {
  process.stderr.write(`${text}\n`);
  return code;
}

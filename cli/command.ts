import type { CommandLine, Takes } from '../server/settings/command.ts';
import type { Flags } from '../server/settings/flags.ts';

/** A command: its line in the list of commands, the text of `--help`, and the function that runs it. */
export type CliCommand = {
  summary: string;
  usage: string;
  /** Whether it is for all of several sites. Any other command takes --site, which names one. */
  isForAllSites: boolean;
  /** Resolves with the exit code. */
  run: (args: readonly string[], environment: NodeJS.ProcessEnv) => Promise<number>;
};

/** An entry of the table of commands: the arguments that a command takes, its texts, and its function. */
type Entry<F extends Flags> = Takes<F> & {
  summary: string;
  usage: string;
  /** Refuses arguments before they are read. */
  refuse?: (args: readonly string[]) => Promise<void>;
  /**
   * Resolves with the exit code. Loads the module of the command when it runs: to load all modules would take longer
   * than most commands do.
   */
  run: (given: CommandLine<F>, environment: NodeJS.ProcessEnv) => Promise<number>;
};

/** Makes a command of its entry. A command that takes the setting `sites` is for all sites. */
export function command<const F extends Flags = Record<never, never>>(entry: Entry<F>): CliCommand {
  const { summary, usage, refuse, run, ...takes } = entry;
  return {
    summary,
    usage,
    isForAllSites: takes.settings.includes('sites'),
    async run(args, environment) {
      await refuse?.(args);
      const { readSettings } = await import('../server/settings/command.ts');
      return run(readSettings<F>(args, environment, takes), environment);
    },
  };
}

/** Phrases in the usages of commands of several files. */
export const streams = `A global is globals/SLUG, an account accounts/COLLECTION/ID.`;
export const moments = `a position, a time such as 2026-03-03T12:00:00Z, or a day such as 2026-03-03 (UTC)`;
export const acceptClock = `  --accept-clock  run even if the clock is more than a day behind the last event`;

export const bucket = `Uploaded files are in the folder "blobs" of the data directory, or in an S3 bucket: ANNALS_S3_ENDPOINT, ANNALS_S3_BUCKET,
ANNALS_S3_ACCESS_KEY, ANNALS_S3_SECRET_KEY, and optionally ANNALS_S3_REGION (default: us-east-1) and ANNALS_S3_PATH_STYLE
(true, the default, or false).`;

export const sameBucket = `${bucket} Use the settings of the service.`;

export const calls = `${acceptClock}

A running service carries the command out. Without one, the command opens the data directory itself. Run it as the user of the
service, with the same --config and --data.

Exit codes: 0 done. 1 refused, one reason per line. 2 wrong usage, or could not run.`;

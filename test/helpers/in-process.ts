import { Readable } from 'node:stream';
import { run } from '../../cli/cli.ts';
import { withoutProgress } from './command.ts';

/** How a command ended, and what it printed. */
export type Ended = { code: number | null; stdout: string; stderr: string };

/**
 * Runs a command line in this process, one at a time: to start Node and to load everything costs more than most
 * commands. Tests that need a process (signals, terminals, its environment as Node reads it) use `runCommand`. So do
 * tests of the log of a service that the command starts: its lines bypass the streams, and are not in `stderr` here.
 */
export async function runHere(
  args: readonly string[],
  { environment = {}, input = '' }: { environment?: Record<string, string>; input?: string | Buffer } = {},
): Promise<Ended> {
  const stdin = Object.getOwnPropertyDescriptor(process, 'stdin') as PropertyDescriptor;
  Object.defineProperty(process, 'stdin', { value: Readable.from([Buffer.from(input)]), configurable: true });
  const [stdout, stderr] = [capture(process.stdout), capture(process.stderr)];
  try {
    const code = await run(args, environment);
    return { code, stdout: stdout.text(), stderr: withoutProgress(stderr.text()) };
  } finally {
    stdout.end();
    stderr.end();
    Object.defineProperty(process, 'stdin', stdin);
  }
}

/** Keeps the texts that are written to a stream; the test runner reports through it in bytes, which are passed on. */
function capture(stream: NodeJS.WriteStream): { text: () => string; end: () => void } {
  const { write } = stream;
  let printed = '';
  stream.write = (chunk: string | Uint8Array, ...rest: unknown[]) => {
    if (typeof chunk !== 'string') return Reflect.apply(write, stream, [chunk, ...rest]);
    printed += chunk;
    return true;
  };
  return {
    text: () => printed,
    end: () => {
      stream.write = write;
    },
  };
}

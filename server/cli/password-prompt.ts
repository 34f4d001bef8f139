import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import type { ReadStream } from 'node:tty';
import { passwordProblem } from '../../config/passwords.ts';
import { UsageError } from '../settings/settings.ts';

/** Thrown when somebody would rather not give a password. */
export class Cancelled extends Error {
  override name = 'Cancelled';
}

const maxBytes = 10_000;

/**
 * Reads a new password: on a terminal it is asked for twice, and not shown; else it is the first line of what comes in.
 *
 * @throws Cancelled at Ctrl-C or Ctrl-D; UsageError when nothing comes in, or what is no text.
 */
export async function readNewPassword(
  input: NodeJS.ReadableStream & Partial<Pick<ReadStream, 'isTTY'>> = process.stdin,
  output: NodeJS.WritableStream = process.stderr,
): Promise<string> {
  if (!input.isTTY) return firstLine(input);
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  // A line can be mended while it is written, as always, but what would be shown goes nowhere.
  const reader = createInterface({ input, output: nowhere, terminal: true, historySize: 0 });
  reader.on('SIGINT', () => reader.close());
  const lines = reader[Symbol.asyncIterator]();

  async function ask(question: string): Promise<string> {
    output.write(question);
    const { value, done } = await lines.next();
    output.write('\n');
    if (done) throw new Cancelled('cancelled; nothing was done');
    return value;
  }

  try {
    for (;;) {
      const password = await ask('Password: ');
      const problem = passwordProblem(password);
      if (problem !== undefined) output.write(`It must ${problem}.\n`);
      else if ((await ask('The same again: ')) === password) return password;
      else output.write('That is not the same.\n');
    }
  } finally {
    // That sets the terminal back to how it was, too.
    reader.close();
  }
}

async function firstLine(input: NodeJS.ReadableStream): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of input) {
    const bytes = Buffer.from(chunk);
    const end = bytes.indexOf('\n');
    chunks.push(end === -1 ? bytes : bytes.subarray(0, end));
    size += bytes.length;
    if (end !== -1 || size > maxBytes) break;
  }
  const line = decode(Buffer.concat(chunks)).replace(/\r$/, '');
  if (line === '') throw new UsageError('there is no password on standard input: it must be the first line');
  return line;
}

/** Bytes that are no text would become a password that nobody can write. */
function decode(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new UsageError('the password on standard input is not valid UTF-8');
  }
}

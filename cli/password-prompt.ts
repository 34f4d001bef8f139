import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import type { ReadStream } from 'node:tty';
import { passwordProblem } from '../config/passwords.ts';
import { UsageError } from '../server/settings/settings.ts';
import { Cancelled } from './errors.ts';

const maxBytes = 10_000;

/**
 * Reads a new password: on a terminal by asking twice, without showing it; else from the first line of the input.
 *
 * @throws Cancelled at Ctrl-C or Ctrl-D; UsageError if the input is empty or not text.
 */
export async function readNewPassword(
  input: NodeJS.ReadableStream & Partial<Pick<ReadStream, 'isTTY'>> = process.stdin,
  output: NodeJS.WritableStream = process.stderr,
): Promise<string> {
  if (!input.isTTY) return firstLine(input);
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  // The line can be edited as usual, but its echo is discarded.
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
      const wrong = passwordProblem(password);
      if (wrong !== undefined) output.write(`It must ${wrong.problem}.\n`);
      else if ((await ask('Repeat the password: ')) === password) return password;
      else output.write('The passwords differ.\n');
    }
  } finally {
    // Also resets the terminal.
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

/** Bytes that are not text would become a password that cannot be typed. */
function decode(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new UsageError('the password on standard input is not valid UTF-8');
  }
}

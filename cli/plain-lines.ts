import { isEntry } from '../config/problems.ts';
import type { LogSink } from '../server/platform/logging.ts';
import { thrownPlace } from '../server/settings/load-errors.ts';
import { printable } from './terminal.ts';

type Entry = { readonly [key: string]: unknown };

const levels: Record<number, string> = { 40: 'warning: ', 50: 'error: ', 60: 'fatal: ' };

/**
 * A sink of a log, for people: each line of JSON becomes a plain one, an error with the place in the author's files.
 */
export function plainLines(sink: LogSink): LogSink {
  const write = (lines: string) => {
    const plain = lines
      .split('\n')
      .filter((line) => line !== '')
      .map(plainLine);
    sink.write(plain.map((line) => `${line}\n`).join(''));
  };
  return { write, flushSync: () => sink.flushSync() };
}

function plainLine(line: string): string {
  const entry = entryIn(line);
  if (!entry) return line;
  const { level, msg, method, path, status, milliseconds } = entry;
  if (method !== undefined && status !== undefined) return printable(`${method} ${path} ${status}, ${milliseconds} ms`);
  const [first, ...more] = [`${levels[Number(level)] ?? ''}${msg ?? ''}`, ...errorIn(entry)];
  const advice = isEntry(entry.err) && typeof entry.err.advice === 'string' ? [entry.err.advice] : [];
  return [first, ...more, ...advice].map((part) => printable(String(part))).join('\n  ');
}

/**
 * The message of an error with its place in the author's files; its stack if only our files are in it, since then the
 * mistake is ours.
 */
function errorIn({ err }: Entry): string[] {
  if (!isEntry(err)) return [];
  const { message = '', stack = '' } = err;
  const place = thrownPlace(String(stack));
  const lines = String(message).split('\n');
  if (place === null) return String(stack || message).split('\n');
  return [...lines.slice(0, -1), `${lines.at(-1)}, at ${place}`];
}

function entryIn(line: string): Entry | null {
  try {
    const value: unknown = JSON.parse(line);
    return isEntry(value) ? value : null;
  } catch {
    return null;
  }
}

import { filesStream } from '../facts/catalogue.ts';
import { type Change, changeOf, type RecordedEvent } from '../facts/log.ts';
import type { LogReader } from '../log/log-reader.ts';

/**
 * A file, identified by the first version of the document in `stream` that has it. Never by its SHA-256, which would
 * identify the content after the document is erased.
 */
export type FileAt = { stream: string; version: number };

/** A text that is unique to a file. */
export function fileKey({ stream, version }: FileAt): string {
  return `${stream} ${version}`;
}

/** The lost files, by their keys, each with the position of its `file.lost`. */
export function lossesOf(log: LogReader): Map<string, number> {
  const lost = new Map<string, number>();
  for (const { header, data } of log.stream(filesStream)) {
    const file = fileIn({ header, data });
    if (!file) continue;
    if (header.type === 'file.lost') lost.set(fileKey(file), header.position);
    else lost.delete(fileKey(file));
  }
  return lost;
}

/** The file that a `file.lost` or `file.found` is about; null for any other event. */
export function fileIn({ header, data }: Pick<RecordedEvent, 'header' | 'data'>): FileAt | null {
  if (header.type !== 'file.lost' && header.type !== 'file.found') return null;
  const { stream, version } = data ?? {};
  return typeof stream === 'string' && typeof version === 'number' ? { stream, version } : null;
}

/**
 * Records which files are lost, and which were found again; null if there are neither.
 *
 * @param version the version of the stream of files at which the log said the opposite of each file.
 */
export function decideLosses(lost: readonly FileAt[], found: readonly FileAt[], version: number): Change | null {
  if (lost.length + found.length === 0) return null;
  const events = [
    ...lost.map(({ stream, version }) => ({ type: 'file.lost' as const, data: { stream, version } })),
    ...found.map(({ stream, version }) => ({ type: 'file.found' as const, data: { stream, version } })),
  ];
  return changeOf(filesStream, events, version);
}

import { readdirSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { codeOf } from '../../storage/errors.ts';
import {
  type AwayFrame,
  awayFile,
  awayFolder,
  fetchedFrame,
  namesIn,
  SegmentAwayError,
  SegmentError,
  SegmentUnreachableError,
  storeOf,
  whichSegment,
  writeWhole,
} from './offloaded.ts';
import type { Frame } from './segment-file.ts';

/** A read may need other frames each time; more often than this it is given up. */
const mostTries = 1000;

/**
 * Reads; where frames are away they are fetched, and it is called again. @throws SegmentUnreachableError, SegmentError.
 */
export async function whenHere<T>(read: () => T | Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof SegmentAwayError)) throw error;
      if (tries === mostTries || error.missing.length === 0)
        throw new SegmentUnreachableError('earlier events are in the bucket, and more of them than are read at a time');
      await bringHere(error.missing);
    }
  }
}

type Run = { path: string; start: number; end: number; frames: Frame[] };

const fetching = new Map<string, Promise<void>>();
const atOnce = 8;
/** So many bytes are fetched in one request at most. */
const mostInRun = 4 * 1024 * 1024;

/** Fetches frames into the folders of their segments. */
export async function bringHere(missing: readonly AwayFrame[]): Promise<void> {
  const runs = runsOf(missing);
  for (let at = 0; at < runs.length; at += atOnce)
    await Promise.all(
      runs.slice(at, at + atOnce).map((run) => {
        const name = `${run.path}:${run.start}-${run.end}`;
        const begun = fetching.get(name) ?? bring(run).finally(() => fetching.delete(name));
        fetching.set(name, begun);
        return begun;
      }),
    );
}

function runsOf(missing: readonly AwayFrame[]): Run[] {
  const runs: Run[] = [];
  const sorted = [...missing].sort((a, b) => a.path.localeCompare(b.path) || a.frame.offset - b.frame.offset);
  for (const { path, frame } of sorted) {
    const open = runs.at(-1);
    const end = frame.offset + frame.length;
    if (open?.path === path && open.frames.at(-1)?.first === frame.first) continue;
    if (open?.path === path && open.end === frame.offset && end - open.start <= mostInRun) {
      open.end = end;
      open.frames.push(frame);
    } else runs.push({ path, start: frame.offset, end, frames: [frame] });
  }
  return runs;
}

async function bring({ path, start, end, frames }: Run): Promise<void> {
  const bytes = await storeOf(path).fetch(basename(path), { start, end: end - 1 });
  if (bytes === null) throw new SegmentError(`${whichSegment(path)} is missing in the bucket`);
  if (bytes.length !== end - start)
    throw new SegmentError(`${whichSegment(path)} was altered in the bucket: it is shorter than it was`);
  for (const { first, offset, length } of frames)
    keepFetched(path, first, bytes.subarray(offset - start, offset - start + length));
}

/** So many bytes of frames that were fetched stay here, of a log; and so often it is looked. */
const mostFetched = 64 * 1024 * 1024;
const lookAfter = 8 * 1024 * 1024;
let sinceLook = 0;

function keepFetched(path: string, first: number, bytes: Buffer): void {
  try {
    writeWhole(join(awayFolder(path), fetchedFrame(first)), bytes);
  } catch (error) {
    // The segment has been written anew meanwhile, and its former object is gone.
    if (codeOf(error) !== 'ENOENT') throw error;
  }
  sinceLook += bytes.length;
  if (sinceLook < lookAfter) return;
  sinceLook = 0;
  dropFetched(dirname(path), mostFetched);
}

/** Removes the frames that were fetched first, until so many bytes are left. */
function dropFetched(folder: string, most: number): void {
  const found = readdirSync(folder)
    .filter((name) => awayFile(name) !== null)
    .flatMap((name) => namesIn(join(folder, name)).map((frame) => join(folder, name, frame)))
    .filter((path) => path.endsWith('.fetched'))
    .flatMap((path) => {
      const { size, mtimeMs } = statSync(path, { throwIfNoEntry: false }) ?? {};
      return size === undefined || mtimeMs === undefined ? [] : [{ path, size, mtimeMs }];
    })
    .sort((a, b) => b.mtimeMs - a.mtimeMs);
  let held = 0;
  for (const { path, size } of found) {
    held += size;
    if (held > most) rmSync(path, { force: true });
  }
}

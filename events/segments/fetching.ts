import { rmSync, statSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { codeOf } from '../../storage/errors.ts';
import { fetchedFramesIn, keepFetchedFrame } from './offload-folder.ts';
import {
  type OffloadedFrame,
  SegmentError,
  SegmentOffloadedError,
  SegmentUnreachableError,
  storeOf,
  whichSegment,
} from './offloaded.ts';
import type { Frame } from './segment-file.ts';

/** A read may need other frames each time; after this many it is given up. */
const mostTries = 1000;

/**
 * Reads. If the read misses frames that only the bucket has, fetches them and reads again.
 *
 * @throws SegmentUnreachableError, SegmentError.
 */
export async function retryAfterFetch<T>(read: () => T | Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof SegmentOffloadedError)) throw error;
      if (tries === mostTries || error.missing.length === 0)
        throw new SegmentUnreachableError('earlier events are in the bucket, and more of them than are read at a time');
      await fetchFrames(error.missing);
    }
  }
}

/** Frames of one segment that follow on each other, from byte `start` to before `end`: one request fetches them. */
type Run = { path: string; start: number; end: number; frames: Frame[] };

const fetching = new Map<string, Promise<void>>();
const atOnce = 8;
/** The most bytes of one request. */
const mostInRun = 4 * 1024 * 1024;

/** Fetches frames into the folders of their segments. */
export async function fetchFrames(missing: readonly OffloadedFrame[]): Promise<void> {
  const runs = runsOf(missing);
  for (let at = 0; at < runs.length; at += atOnce)
    await Promise.all(
      runs.slice(at, at + atOnce).map((run) => {
        const name = `${run.path}:${run.start}-${run.end}`;
        const begun = fetching.get(name) ?? fetchRun(run).finally(() => fetching.delete(name));
        fetching.set(name, begun);
        return begun;
      }),
    );
}

function runsOf(missing: readonly OffloadedFrame[]): Run[] {
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

async function fetchRun({ path, start, end, frames }: Run): Promise<void> {
  const bytes = await storeOf(path).fetch(basename(path), { start, end: end - 1 });
  if (bytes === null) throw new SegmentError(`${whichSegment(path)} is missing in the bucket`);
  if (bytes.length !== end - start)
    throw new SegmentError(`${whichSegment(path)} was altered in the bucket: it is shorter than it was`);
  for (const { first, offset, length } of frames)
    keepFetched(path, first, bytes.subarray(offset - start, offset - start + length));
}

/** The most bytes of fetched frames of one log that stay here. */
const mostFetched = 64 * 1024 * 1024;
/** The bytes after which this looks at the sum again. */
const lookAfter = 8 * 1024 * 1024;
let sinceLook = 0;

function keepFetched(path: string, first: number, bytes: Buffer): void {
  try {
    keepFetchedFrame(path, first, bytes);
  } catch (error) {
    // The segment has been rewritten meanwhile, and its former object is gone.
    if (codeOf(error) !== 'ENOENT') throw error;
  }
  sinceLook += bytes.length;
  if (sinceLook < lookAfter) return;
  sinceLook = 0;
  dropFetched(dirname(path), mostFetched);
}

/** Removes the frames that were fetched first, until at most `most` bytes are left. */
function dropFetched(folder: string, most: number): void {
  const found = fetchedFramesIn(folder)
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

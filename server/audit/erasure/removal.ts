import type { Category } from '../../../config/schema.ts';
import { splitStream } from '../../../events/facts/catalogue.ts';
import type { LogReader } from '../../../events/log/log-reader.ts';
import type { Obstacle, RemainingFiles, ScrubResult } from '../../../projections/tables/scrub.ts';
import type { BlobGuard } from '../../files/blobs/guard.ts';
import { isStoreFailure } from '../../http/store-refusals.ts';
import type { Offloading } from '../../writer/offloading.ts';
import type { Writer } from '../../writer/writer.ts';
import { type Obstacles, reasons } from './obstacles.ts';

/** The parts of a service from which erased data is removed. */
export type RemovalParts = {
  guard: Pick<BlobGuard, 'erase'>;
  scrub: Writer['scrub'];
  /**
   * Writes the segments anew that have erased payloads. No other payloads are archived until the function that it
   * resolves with is called.
   */
  rewriteSegments: () => Promise<() => void>;
  /** The objects of segments in the bucket. */
  objects: Pick<Offloading, 'findObjects' | 'removeObjects'>;
  /** Forgets what the vault has about a document; and if it is a user, all that this user keeps. */
  forgetKept: (category: Category, id: string) => Promise<void>;
};

/** One try to finish all erasures of a log; `closed` resolves when the service stops. */
type Try = RemovalParts & { log: LogReader; obstacles: Obstacles; closed: Promise<null> };

/**
 * Removes all that the unfinished erasures of a log name: what users keep, uploaded files, segments, and the bytes in
 * the data files. Notes an obstacle for each erasure that cannot be finished now.
 *
 * @returns false if the service stops; the next start goes on.
 */
export async function removeErased(work: Try, signal: AbortSignal): Promise<boolean> {
  const { log, closed } = work;
  const open = log.erasures.unfinished();
  for (const { position } of open) {
    for (const { header } of log.range(position - 1, position)) await work.forgetKept(...splitStream(header.stream));
  }
  const remaining: RemainingFiles[] = [];
  for (const { position, files } of open) remaining.push({ position, files: await removeFiles(work, position, files) });
  if (signal.aborted) return false;
  if (open.length === 0) return true;
  // Until the data files are clean no payloads are archived: an erased one could be in the file that is being written.
  const release = await Promise.race([work.rewriteSegments(), closed]);
  if (release === null) return false;
  const scrubbing = scrubAll(work, remaining).finally(release);
  const scrubbed = await Promise.race([scrubbing, closed]);
  if (scrubbed === null) return false;
  if (!scrubbed.isClean) noteForAll(work, remaining, scrubbed);
  return true;
}

/** An erasure with files left has an obstacle already. */
function noteForAll(
  { obstacles }: Try,
  remaining: readonly RemainingFiles[],
  { because, said }: { because: Obstacle; said?: string },
): void {
  const reason = reasons[because];
  const why = said === undefined ? reason : `${reason}: ${said}`;
  for (const { position, files } of remaining) if (files.length === 0) obstacles.note(position, reason, why);
}

async function scrubAll(work: Try, remaining: RemainingFiles[]): Promise<ScrubResult> {
  const { objects, scrub, obstacles } = work;
  const onHindered = () => noteForAll(work, remaining, { because: 'reader' });
  try {
    await objects.findObjects();
    const scrubbed = await scrub(remaining, onHindered);
    if (scrubbed.isClean || scrubbed.because !== 'objects') return scrubbed;
    // No reader is left that needs them.
    await objects.removeObjects();
  } catch (error) {
    if (!isStoreFailure(error)) throw error;
    obstacles.noteObjects(error.message);
    return { isClean: false, because: 'objects' };
  }
  return scrub(remaining, onHindered);
}

/** Removes the files of an erasure from the store. @returns the files that are left. */
async function removeFiles({ guard, obstacles }: Try, position: number, files: string[]): Promise<string[]> {
  if (files.length === 0) return files;
  try {
    const { left, held } = await guard.erase(files);
    if (held) {
      const until = held.until === null ? '' : ` until ${held.until}`;
      obstacles.note(position, `the store does not let go of a file${until}`, held.message);
    } else if (left.length > 0) obstacles.note(position, 'another upload of the same file is under way');
    return left;
  } catch (error) {
    if (!isStoreFailure(error)) throw error;
    obstacles.note(position, 'the store of files cannot be used', error.message);
    return files;
  }
}

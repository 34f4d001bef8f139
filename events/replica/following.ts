import type { WriterContext } from './append-steps.ts';
import { ingest } from './catch-up.ts';
import { refuseLoss } from './shared-log.ts';

/** One look for the events of other nodes: the number that was taken in, and whether the end of the log was reached. */
type Look = { count: number; isLevel: boolean };

/**
 * Takes in a page of the events that others have appended.
 *
 * @throws what `SharedWriter.follow` says.
 */
export async function takeInPage(writer: WriterContext): Promise<Look> {
  const missing = await writer.pages.next(writer.replica.head());
  const { length: count } = missing.events;
  if (count > 0) await writer.replicaWrites.run(async () => ingest(writer, missing));
  return { count, isLevel: missing.head !== null };
}

/**
 * The same if there are probably no events: it is asked first where the log ends, since a page is four more questions.
 *
 * @throws what `SharedWriter.follow` says.
 */
export async function takeInIfGrown(writer: WriterContext): Promise<Look> {
  const { shared, replica } = writer;
  const reached = replica.head();
  const end = await shared.head();
  refuseLoss(end, reached);
  return end.size === reached.size ? { count: 0, isLevel: true } : takeInPage(writer);
}

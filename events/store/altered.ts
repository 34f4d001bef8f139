import type { Header } from '../facts/envelope.ts';
import { BrokenLogError } from './log-file.ts';

/**
 * Thrown when something that is read from a log is not what was recorded: an event, its payload, or a hash of the tree
 * over it. The message names the position or the tile, and nothing of what is stored there: it is for clients too.
 */
export class AlteredEventError extends BrokenLogError {
  override name = 'AlteredEventError';
}

/** The error about one event. @param what is wrong with it, such as "its payload is missing". */
export function alteredEvent(position: number, what: string): AlteredEventError {
  return new AlteredEventError(`event ${position} of the log was altered: ${what}`);
}

/** The error about an event that is not there. */
export function missingEvent(position: number): AlteredEventError {
  return new AlteredEventError(`event ${position} of the log is missing`);
}

/** The error about an event that is not there, by its place in its stream. */
export function missingVersion(stream: string, version: number): AlteredEventError {
  return new AlteredEventError(`version ${version} of ${stream} is missing from the log`);
}

/**
 * The error about an event that an index gave, and that is not what the index says of it. @param what such as "version
 * 2 of posts/1".
 */
export function misplacedEvent(position: number, what: string): AlteredEventError {
  return new AlteredEventError(`event ${position} of the log is not ${what}: the index that gave it was altered`);
}

/**
 * An event that the index of streams gave as a version of a stream. @throws AlteredEventError where its header says
 * something else.
 */
export function requireVersion<H extends Pick<Header, 'position' | 'stream' | 'version'>>(
  header: H,
  stream: string,
  version: number,
): H {
  if (header.stream === stream && header.version === version) return header;
  throw misplacedEvent(header.position, `version ${version} of ${stream}`);
}

import type { Header } from '../facts/envelope.ts';
import { BrokenLogError } from './log-file.ts';

/**
 * Thrown when something that is read from a log is not what was recorded: an event, its payload, or a hash of the tree
 * over it. The message is for clients too, so it names the position or the tile, and nothing that is stored there.
 */
export class AlteredEventError extends BrokenLogError {
  override name = 'AlteredEventError';
}

/** The error about one event. @param what the fault, such as "its payload is missing". */
export function alteredEvent(position: number, what: string): AlteredEventError {
  return new AlteredEventError(`event ${position} of the log was altered: ${what}`);
}

/** The error about a missing event. */
export function missingEvent(position: number): AlteredEventError {
  return new AlteredEventError(`event ${position} of the log is missing`);
}

/** The error about a missing event, by its version in its stream. */
export function missingVersion(stream: string, version: number): AlteredEventError {
  return new AlteredEventError(`version ${version} of ${stream} is missing from the log`);
}

/**
 * The error about an event that is not what the index that gave it says. @param what the index says, such as "version 2
 * of posts/1".
 */
export function misplacedEvent(position: number, what: string): AlteredEventError {
  return new AlteredEventError(`event ${position} of the log is not ${what}: the index that gave it was altered`);
}

/**
 * Checks an event that the index of streams gave as a version of a stream. @throws AlteredEventError if its header says
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

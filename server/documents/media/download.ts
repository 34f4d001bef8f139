import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { counted } from '../../../config/counted.ts';
import { notePassed } from '../../../storage/garbage.ts';

/**
 * Sees to it that bytes that do not come, or too many, end the connection: the client is to see that the file is not whole.
 * hapi would end the answer as if it were, and the client wait for the rest.
 *
 * @param length how many bytes the client was promised.
 * @param onCut is told why, once; a client that leaves by itself is nothing to tell.
 * @returns the bytes, for hapi to send.
 */
export function watchDownload(
  bytes: Readable,
  response: ServerResponse,
  length: number,
  onCut: (error: Error) => void,
): Readable {
  let left = length;
  const cut = (error: Error) => {
    // Of a client who has left, the bytes end early too.
    if (response.destroyed) return;
    onCut(error);
    response.destroy();
  };
  const isWhole = () => {
    if (left !== 0) cut(new Error(`${counted(left, 'byte')} less than expected came from the store`));
  };
  // Paused, they wait for hapi in spite of the listener.
  return bytes
    .pause()
    .on('data', (chunk: Buffer) => {
      notePassed(chunk.length);
      left -= chunk.length;
      if (left < 0) cut(new Error('more bytes than expected came from the store'));
    })
    .on('error', cut)
    .on('end', isWhole)
    .on('close', isWhole);
}

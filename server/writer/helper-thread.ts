import { type MessagePort, workerData } from 'node:worker_threads';
import { checkRange } from '../../events/verify/verify-ranges.ts';
import { foldShare } from '../../projections/start/build-shares.ts';
import type { Beat, Piece, PieceResult } from '../../projections/start/helpers.ts';
import { messageOf } from '../../storage/errors.ts';
import { helperCells } from './helpers.ts';

/** The start data of a helper thread. */
export type HelperInput = {
  /** Its pieces of work. */
  pieces: readonly Piece[];
  /** Takes the answer. */
  port: MessagePort;
  /** {@link helperCells}, which all helper threads share. */
  cells: Int32Array<SharedArrayBuffer>;
  /** The index of its own cell. */
  own: number;
};

/** The answer of a helper thread: the results of its pieces, or why some are missing. */
export type HelperMessage = { results: PieceResult[] } | { failure: string };

const { pieces, port, cells, own }: HelperInput = workerData;

const beat: Beat = (events) => {
  Atomics.add(cells, own, events);
  if (Atomics.load(cells, helperCells.isOver) === 1) throw new Error('it was ended');
};

port.postMessage(answer());
Atomics.add(cells, helperCells.ended, 1);
Atomics.notify(cells, helperCells.ended);
port.close();

function answer(): HelperMessage {
  try {
    return { results: pieces.map(run) };
  } catch (error) {
    return { failure: messageOf(error) };
  }
}

function run(piece: Piece): PieceResult {
  if (piece.kind === 'share') return foldShare(piece, beat);
  return checkRange(piece, beat);
}

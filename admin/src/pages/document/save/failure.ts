import { ApiError } from '../../../../../client/errors.ts';
import type { Words } from '../../../words/words.ts';

/** Why a save did not succeed, in words for who has typed something. */
export function failureText(error: unknown, words: Words['form'], limit: number, values: unknown): string {
  if (!(error instanceof ApiError)) return error instanceof Error ? error.message : String(error);
  switch (error.status) {
    case 0:
      return words.unreachable;
    case 403:
      return words.refusedRight(error.message);
    case 404:
      return words.refusedGone;
    case 413:
      return words.refusedTooLarge(sizeOf(new TextEncoder().encode(JSON.stringify(values)).length), sizeOf(limit));
    case 429:
      return error.retryAfter === null ? error.message : words.tooMany(error.retryAfter);
    default:
      return error.message;
  }
}

function sizeOf(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const kib = bytes / 1024;
  return kib < 1024 ? `${kib.toFixed(0)} KiB` : `${(kib / 1024).toFixed(1)} MiB`;
}

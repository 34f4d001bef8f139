import { ApiError } from '../../../../../client/errors.ts';
import { sizeOf } from '../../../parts/sizes.ts';
import type { Words } from '../../../words/words.ts';

/** The words that the user reads, and their language. */
type Told = { form: Words['form']; language: string };

/** The body of a save: the values of a form, and the bytes that a body may have. */
type Sent = { values: unknown; limit: number };

/** Tells the user why a save did not succeed. */
export function failureText(error: unknown, { form: words, language }: Told, { values, limit }: Sent): string {
  if (!(error instanceof ApiError)) return error instanceof Error ? error.message : String(error);
  switch (error.status) {
    case 0:
      return words.unreachable;
    case 403:
      return words.refusedRight(error.message);
    case 404:
      return words.refusedGone;
    case 413:
      return words.refusedTooLarge(sizeOf(bytesOf(values), language), sizeOf(limit, language));
    case 429:
      return error.retryAfter === null ? error.message : words.tooMany(error.retryAfter);
    default:
      return error.message;
  }
}

function bytesOf(values: unknown): number {
  return new TextEncoder().encode(JSON.stringify(values)).length;
}

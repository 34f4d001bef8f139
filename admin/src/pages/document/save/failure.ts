import { ApiError } from '../../../../../client/errors.ts';
import { sizeOf } from '../../../parts/sizes.ts';
import type { Words } from '../../../words/words.ts';

/** The texts of the form, and their language. */
type Texts = { form: Words['form']; language: string };

/** The values of a form, and the most bytes that the body of a save may have. */
type Body = { values: unknown; limit: number };

/** The reason why a save did not succeed, for the user. */
export function failureText(error: unknown, { form: words, language }: Texts, { values, limit }: Body): string {
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

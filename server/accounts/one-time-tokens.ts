import { createHmac, timingSafeEqual } from 'node:crypto';
import { type DomainError, inBody, invalidField } from '../../config/errors.ts';
import type { Category } from '../../config/schema.ts';
import type { TokenKind } from '../ports.ts';

const macBytes = 32;
/** Far above the length of our tokens: longer texts are not even decoded. */
const maxLength = 512;

/**
 * Makes and opens one-time tokens. A token is never stored: it is an id, which is in the log, and a MAC. By the log it
 * is known whether a token was used.
 */
export function createTokens(key: string) {
  /** The token for an id: text of base64url. */
  function token(kind: TokenKind, category: Category, id: string): string {
    const code = createHmac('sha256', key)
      .update(JSON.stringify([kind, category, id]))
      .digest();
    return Buffer.concat([code, Buffer.from(id)]).toString('base64url');
  }

  /** The id of a token, or null if it was not made here for this kind and category. */
  function openToken(kind: TokenKind, category: Category, text: string): string | null {
    if (text.length > maxLength) return null;
    const id = Buffer.from(text, 'base64url').subarray(macBytes).toString();
    // The whole text is compared, so that an id has only one text.
    return isSame(text, token(kind, category, id)) ? id : null;
  }

  return { token, openToken };
}

/** The refusal of a token of a mail. It does not say what is wrong with the token. */
export function badToken(): DomainError {
  return invalidField(inBody('token', 'invalid_token'), 'is not valid: it has been used, replaced or is too old');
}

function isSame(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}

import type { Request } from '@hapi/hapi';
import { type DomainError, inHeader, invalidField } from '../../config/errors.ts';
import type { FieldErrorCode } from '../../config/field-error-codes.ts';
import type { Collection, Global } from '../../config/model.ts';
import { show } from '../../config/suggest.ts';
import { utf8Text } from '../platform/chunks.ts';

const header = 'x-change-reason';
const maxCharacters = 500;

/**
 * Notes the reason of a write, for everything that the request records. To be called once the caller is admitted.
 *
 * @param model the collection or global that is written; null for other writes.
 * @param own the reason that the service gives if one is needed and none came.
 * @throws DomainError `validation_failed` for a malformed header, and if a required reason is missing.
 */
export function noteReason(request: Request, model: Collection | Global | null, own: string | null = null): void {
  const isNeeded = model?.kind === 'collection' && model.requiresReason;
  const reason = reasonOf(request) ?? (isNeeded ? own : null);
  if (isNeeded && reason === null) {
    throw invalid('required', `is required: changes of ${model.slug} say why, in at most ${maxCharacters} characters`);
  }
  request.app.reason = reason;
}

function reasonOf({ headers }: Request): string | null {
  const given: unknown = headers[header];
  if (given === undefined) return null;
  const reason = textOf(String(given)).trim();
  const characters = [...reason].length;
  if (characters === 0) throw invalid('required', 'must not be empty');
  if (characters > maxCharacters) {
    const problem = `must be at most ${maxCharacters} characters, got ${characters}`;
    throw invalidField(inHeader(header, 'max_length', { limit: maxCharacters }), problem);
  }
  // An encoded value may have any of these.
  if (/\p{Cc}/u.test(reason))
    throw invalid('unsafe_characters', `must be one line without control characters, got ${show(reason)}`);
  return reason;
}

/**
 * The text of a header. Node gives each byte as a character, and a browser sends only characters of latin1, so others
 * have to be encoded as in extended parameters (RFC 8187, section 3.2.1).
 */
function textOf(value: string): string {
  const encoded = /^utf-8'[a-z0-9-]*'(.*)$/is.exec(value.trim())?.[1];
  return encoded === undefined ? (utf8Text(Buffer.from(value, 'latin1')) ?? value) : decoded(encoded);
}

function decoded(encoded: string): string {
  try {
    return decodeURIComponent(encoded);
  } catch {
    throw invalid('format', `must be percent-encoded UTF-8 after UTF-8'', got ${show(encoded)}`);
  }
}

function invalid(code: FieldErrorCode, problem: string): DomainError {
  return invalidField(inHeader(header, code), problem);
}

import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { type DomainError, inQuery, invalidField } from '../../config/errors.ts';
import type { Keyset } from '../../projections/query/keyset.ts';
import { isWhereParameter, type Query } from './parameters.ts';

/** The point in a list after which it goes on, and the position that the list is read as of; null is today. */
export type ListPoint = { mark: Keyset; position: number | null };

const cipher = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;
/** In bytes. A cursor is part of a URL, of which servers and proxies accept 8 KiB. */
const longest = 4096;

/**
 * Cursors are encrypted and authenticated, each for one list: they hold values of documents, which must not appear in
 * logs of requests, and no cursor is accepted that this service did not give.
 *
 * @param secret of the service: the key is derived from it.
 */
export function createCursors(secret: string) {
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'annals: cursors of lists', 32));

  /**
   * The cursor of a point in the list of a collection with this query.
   *
   * @throws DomainError `validation_failed` for values that are too long for a URL.
   */
  function seal({ mark, position }: ListPoint, slug: string, query: Query): string {
    const text = JSON.stringify([position, mark]);
    if (Buffer.byteLength(text) > longest) {
      const problem = `leads through texts that are too long for a cursor, of more than ${longest} bytes: sort by other fields, or use page`;
      throw invalidField(inQuery('sort', 'too_expensive'), problem);
    }
    const nonce = randomBytes(nonceBytes);
    const sealing = createCipheriv(cipher, key, nonce).setAAD(listOf(slug, query));
    const sealed = Buffer.concat([sealing.update(text, 'utf8'), sealing.final()]);
    return Buffer.concat([nonce, sealed, sealing.getAuthTag()]).toString('base64url');
  }

  /** Reads a cursor. @throws DomainError `validation_failed` for a text that is not a cursor of this list. */
  function open(cursor: string, slug: string, query: Query): ListPoint {
    const bytes = Buffer.from(cursor, 'base64url');
    if (bytes.length <= nonceBytes + tagBytes || bytes.toString('base64url') !== cursor) throw refusal();
    const opening = createDecipheriv(cipher, key, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes })
      .setAAD(listOf(slug, query))
      .setAuthTag(bytes.subarray(-tagBytes));
    try {
      const text = opening.update(bytes.subarray(nonceBytes, -tagBytes), undefined, 'utf8') + opening.final('utf8');
      const [position, mark]: [number | null, Keyset] = JSON.parse(text);
      return { mark, position };
    } catch {
      throw refusal();
    }
  }

  return { seal, open };
}

function refusal(): DomainError {
  const problem =
    'must be empty, or the next of an answer to the same list: with the same sort, where, q, select, depth and asOf';
  return invalidField(inQuery('next', 'format'), problem);
}

/** The list that a cursor is for: everything that decides on its documents, their order and their form. */
function listOf(slug: string, query: Query): Buffer {
  const where = Object.entries(query).filter(([name]) => isWhereParameter(name));
  const filter = where.sort(([a], [b]) => (a < b ? -1 : 1));
  const { sort = null, q = null, select = null, depth = null, asOf = null, draft } = query;
  const view = draft === undefined ? [] : [draft];
  return Buffer.from(JSON.stringify([slug, filter, sort, q, select, depth, asOf, ...view]));
}

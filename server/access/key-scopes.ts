import type { Request } from '@hapi/hapi';
import { DomainError } from '../../config/errors.ts';
import type { Collection, Global, KeyOperation, KeyScope } from '../../config/model.ts';
import { splitAccountStream, splitStream } from '../../events/facts/catalogue.ts';
import { madeKeyOf } from '../http/requests.ts';
import { type Right, verbOf } from './rules.ts';

/** A collection or global. Scopes name collections by their categories, so that a rename changes nothing. */
type ScopeTarget = Pick<Collection | Global, 'kind' | 'slug' | 'category'>;

/**
 * Whether the caller is an API key whose scopes do not include a right: then no rule is asked.
 *
 * @param isDraft whether the right is about a draft.
 */
export function isOutsideScopes(request: Request, model: ScopeTarget, right: Right, isDraft = false): boolean {
  const key = madeKeyOf(request);
  return key !== null && !covers(key.scopes, model, operationFor(right, isDraft));
}

/** @throws DomainError `forbidden` for an API key that {@link isOutsideScopes}. */
export function requireScope(request: Request, model: ScopeTarget, right: Right, isDraft = false): void {
  if (isOutsideScopes(request, model, right, isDraft)) throw outsideScopes(`${verbOf(right)} ${model.slug}`);
}

/** The operation of scopes that holds a right: `draft` reads and saves drafts, `update` publishes. */
function operationFor(right: Right, isDraft: boolean): KeyOperation {
  if (right === 'publish') return 'update';
  if (right === 'readDrafts') return 'draft';
  return isDraft && (right === 'create' || right === 'update') ? 'draft' : right;
}

/** @throws DomainError `forbidden` for an API key whose scopes do not include reading all collections and globals. */
export function requireReadOfAll(request: Request): void {
  const key = madeKeyOf(request);
  if (key && !readsAll(key.scopes)) throw outsideScopes('read all collections and globals');
}

/** @throws DomainError `forbidden` for an API key that was given no part of the history. */
export function requireSomeAudit(request: Request): void {
  if (madeKeyOf(request)?.audit.length === 0) throw outsideScopes('look into the history');
}

/** Whether scopes let a key read the payloads of a stream, also of a collection or global that was removed. */
export function readsStream(scopes: readonly KeyScope[], stream: string): boolean {
  const [category, rest] = splitStream(stream);
  const account = splitAccountStream(stream);
  if (account) return covers(scopes, { kind: 'collection', slug: '', category: account.category }, 'read');
  // Events about the whole service: its schema, its keys, its exports.
  if (category === 'system') return readsAll(scopes);
  if (category === 'globals') return covers(scopes, { kind: 'global', slug: rest, category }, 'read');
  return covers(scopes, { kind: 'collection', slug: '', category }, 'read');
}

function readsAll(scopes: readonly KeyScope[]): boolean {
  const reading = scopes.filter(({ operations }) => operations.includes('read'));
  return reading.some(({ collections }) => collections === '*') && reading.some(({ globals }) => globals === '*');
}

function covers(scopes: readonly KeyScope[], { kind, slug, category }: ScopeTarget, operation: KeyOperation): boolean {
  return scopes.some(({ collections, globals, operations }) => {
    const held: readonly KeyOperation[] = operations;
    const [names, name] = kind === 'global' ? [globals, slug] : [collections, category];
    return held.includes(operation) && (names === '*' || names.includes(name));
  });
}

/** The refusal of an API key. @param what ends the sentence `you may not …`. */
export function outsideScopes(what: string): DomainError {
  return new DomainError('forbidden', `you may not ${what}: the scopes of this API key do not hold it`);
}

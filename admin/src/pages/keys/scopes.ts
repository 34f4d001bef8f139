import type { ApiKey, KeyAudit, KeyOperation } from '../../../../client/index.ts';
import type { Words } from '../../words/words.ts';

/** The operations that a scope can allow, in the order of the dialog. */
export const operations: readonly KeyOperation[] = ['read', 'create', 'update', 'delete'];
/** The rights on the history that a key can have, in the order of the dialog. */
export const audits: readonly KeyAudit[] = ['headers', 'payloads', 'export', 'erase'];

/** The rights of a key in words: a line for each scope, one for the history. */
export function rightsOf(key: Pick<ApiKey, 'scopes' | 'audit'>, words: Words['people']): string[] {
  const list = (slugs: string[] | '*', all: string) => (slugs === '*' ? [all] : slugs);
  const scopes = key.scopes.map(({ collections, globals, operations: own }) => {
    const things = [...list(collections, words.allCollections), ...list(globals, words.allGlobals)];
    return `${own.map((one) => words.operation[one]).join(', ')}: ${things.join(', ')}`;
  });
  const history = key.audit.map((one) => words.auditScope[one]).join(', ');
  return history === '' ? scopes : [...scopes, `${words.auditScopes}: ${history}`];
}

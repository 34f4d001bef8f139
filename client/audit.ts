import { segment } from './address.ts';
import type { Audit, AuditTarget } from './api.ts';
import type { Caller } from './calls.ts';
import type { AnyConfig } from './types/config.ts';

/** The calls about the history, for callers who may read it. */
export function auditOf({ bodyOf }: Caller) {
  const read = (path: string, options?: object) => bodyOf({ method: 'GET', path, options });
  return {
    events: (options?: object) => read('/api/audit/events', options),
    version: async (target: AuditTarget<AnyConfig>, version: number, options?: object) => {
      return read(`${pathOf(target)}/versions/${segment('version', String(version))}`, options);
    },
    diff: async (target: AuditTarget<AnyConfig>, options?: object) => read(`${pathOf(target)}/diff`, options),
    blame: async (target: AuditTarget<AnyConfig>, options?: object) => read(`${pathOf(target)}/blame`, options),
  } satisfies Record<keyof Audit<AnyConfig>, unknown>;
}

function pathOf(target: AuditTarget<AnyConfig>): string {
  if ('global' in target) return `/api/audit/globals/${segment('the slug of a global', target.global)}`;
  return `/api/audit/documents/${segment('the slug of a collection', target.collection)}/${segment('id', target.id)}`;
}

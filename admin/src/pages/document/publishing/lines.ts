import type { Field } from '../../../schema/fields.ts';
import type { Collection, Global } from '../../../schema/model.ts';
import { isOfDrafts } from '../../../schema/model.ts';
import { changedFields } from '../form/bodies.ts';
import type { Values } from '../form/values.ts';

/** Whether a document is public: as its draft is, in another state, or not at all. */
type Status = 'published' | 'changed' | 'draft';

/** How a document is published, as the service says beside a draft. `publishedAt` is ISO 8601; null: not public. */
export type LineFacts = { status: Status; publishedAt: string | null; review: 'open' | 'refused' | null };

const statuses: readonly unknown[] = ['published', 'changed', 'draft'] satisfies Status[];

function isStatus(value: unknown): value is Status {
  return statuses.includes(value);
}

/** Reads how a document is published; null for a document that was not read as a draft. */
export function lineFactsOf({ __status, __publishedAt, __review }: Values): LineFacts | null {
  if (!isStatus(__status)) return null;
  return {
    status: __status,
    publishedAt: typeof __publishedAt === 'string' ? __publishedAt : null,
    review: __review === 'open' || __review === 'refused' ? __review : null,
  };
}

/** A field in which a draft differs from what is public. */
export type LineChange = { field: ReturnType<typeof changedFields>[number]; published: unknown; draft: unknown };

/** The fields in which a draft differs from what is public; from nothing, those that have a value. */
export function changesBetween(fields: readonly Field[], draft: Values, published: Values | null): LineChange[] {
  return changedFields(fields, draft, published ?? {}).map((field) => {
    return { field, published: published?.[field.name], draft: draft[field.name] };
  });
}

/** The actions on the lines of a document that the user may do, as far as that can be known beforehand. */
export type LineActions = { publish: boolean; discard: boolean; unpublish: boolean; delete: boolean };

/**
 * The actions on a document or global.
 *
 * @param status null for a document that is not created yet, and for one that was read as what is public.
 */
export function actionsOf(config: Collection | Global, isGlobal: boolean, status: Status | null): LineActions {
  const { access } = config;
  const mayDelete = 'delete' in access && access.delete;
  if (!isOfDrafts(config)) return { publish: false, discard: false, unpublish: false, delete: mayDelete };
  return {
    publish: access.publish,
    discard: access.update && status === 'changed',
    unpublish: !isGlobal && access.publish && (status === 'published' || status === 'changed'),
    delete: mayDelete && (access.publish || status === 'draft'),
  };
}

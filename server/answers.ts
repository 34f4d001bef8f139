import type { ResponseObject, ResponseToolkit } from '@hapi/hapi';
import type { JsonObject } from '../config/schema.ts';
import type { Page } from '../projections/documents.ts';
import type { Target } from './app.ts';
import type { ListQuery } from './query.ts';

/** Sends JSON text as it is: a stored document is neither parsed nor written again. */
export function sendText(h: ResponseToolkit, text: string): ResponseObject {
  return h.response(text).type('application/json');
}

/** A stored document as this target's clients see it. */
export function present(target: Target, text: string): string {
  return target.joins.length === 0 ? text : JSON.stringify(withJoins(target, JSON.parse(text)));
}

/** A document in memory as this target's clients see it. */
export function presentDocument(target: Target, document: JsonObject): string {
  return JSON.stringify(target.joins.length === 0 ? document : withJoins(target, document));
}

/** The document of an answer: the server's own fields, then every field in the order of the configuration. */
export function documentOf({ shape }: Target, id: string, values: JsonObject): JsonObject {
  return { id, createdAt: values.createdAt ?? null, updatedAt: values.updatedAt ?? null, ...shape(values) };
}

function withJoins({ joins }: Target, document: JsonObject): JsonObject {
  const result = { ...document };
  for (const { name, ids } of joins) result[name] = ids(String(document.id));
  return result;
}

/** The envelope of a list (contract, section 2.5) around documents that are text already. */
export function listText(target: Target, { texts, total }: Page, { limit, page }: ListQuery): string {
  const docs = target.joins.length === 0 ? texts : texts.map((text) => present(target, text));
  const totalPages = Math.ceil(total / limit);
  const hasNextPage = page < totalPages;
  const prevPage = page > 1 && totalPages > 0 ? Math.min(page - 1, totalPages) : null;
  const rest = {
    total,
    limit,
    page,
    totalPages,
    hasNextPage,
    hasPrevPage: prevPage !== null,
    nextPage: hasNextPage ? page + 1 : null,
    prevPage,
  };
  return `{"docs":[${docs.join(',')}],${JSON.stringify(rest).slice(1)}`;
}

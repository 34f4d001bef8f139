import type { Request, ResponseObject, ResponseToolkit } from '@hapi/hapi';
import type { JsonObject } from '../config/schema.ts';
import type { Page } from '../projections/documents.ts';
import type { Target } from './app.ts';
import { hasReadRules, readableFields } from './field-access.ts';
import { hasReadHooks, onRead } from './hooks.ts';
import type { ListQuery } from './query.ts';

/** Sends JSON text as it is: a stored document is neither parsed nor written again. */
export function sendText(h: ResponseToolkit, text: string): ResponseObject {
  return h.response(text).type('application/json');
}

/** Turns stored documents into what a caller is shown. */
export type Presenter = {
  /** A document as it is stored. */
  text: (request: Request, text: string) => string | Promise<string>;
  /** The documents of a page as they are stored. */
  texts: (request: Request, texts: readonly string[]) => readonly string[] | Promise<readonly string[]>;
  /** A document in memory, as it has just been written. */
  document: (request: Request, document: JsonObject) => string | Promise<string>;
};

/** Decides once what has to be done to a target's documents: where it is nothing, text goes out as it is. */
export function presenterOf(target: Target): Presenter {
  const runsHooks = hasReadHooks(target);
  const hidesFields = hasReadRules(target);
  if (!runsHooks && !hidesFields && target.joins.length === 0) {
    return {
      text: (_request, text) => text,
      texts: (_request, texts) => texts,
      document: (_request, document) => JSON.stringify(document),
    };
  }

  async function document(request: Request, stored: JsonObject): Promise<string> {
    let result = { ...stored };
    for (const { name, ids } of target.joins) result[name] = ids(String(stored.id));
    if (runsHooks) result = await onRead(target, { request, operation: 'read', doc: stored }, result);
    if (hidesFields) result = await readableFields(request, target, result);
    return JSON.stringify(result);
  }

  const text = (request: Request, stored: string) => document(request, JSON.parse(stored));
  const texts = (request: Request, stored: readonly string[]) => Promise.all(stored.map((one) => text(request, one)));
  return { text, texts, document };
}

/** The document of an answer: the server's own fields, then every field in the order of the configuration. */
export function documentOf({ shape }: Target, id: string, values: JsonObject): JsonObject {
  return { id, createdAt: values.createdAt ?? null, updatedAt: values.updatedAt ?? null, ...shape(values) };
}

/** The envelope of a list (contract, section 2.5) around documents that are text already. */
export function listText(docs: readonly string[], { total }: Page, { limit, page }: ListQuery): string {
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

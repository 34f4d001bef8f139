import { segment, shown } from './address.ts';
import { isObject } from './answers.ts';
import type { GlobalClient } from './api.ts';
import type { Call, Caller } from './calls.ts';
import { ApiError } from './errors.ts';
import type { KeyedOptions, WriteOptions } from './options.ts';
import { everyDocument } from './pages.ts';
import type { Absence, Page, RestoreSource, Turn } from './types/answers.ts';
import type { Creation, Documents } from './types/collections.ts';
import type { AnyConfig } from './types/config.ts';
import type { DocumentWrites } from './types/drafts.ts';

type Methods =
  | keyof Documents<AnyConfig, string>
  | keyof DocumentWrites<AnyConfig, string>
  | keyof Creation<AnyConfig, string>;

/** The calls about the documents of a collection. */
export function documentsOf({ call, bodyOf }: Caller, slug: string) {
  const path = `/api/collections/${slug}`;
  const pathOf = (id: string) => `${path}/${segment('id', id)}`;

  async function findOne(idOrList: string | object, options: object = {}): Promise<unknown> {
    if (typeof idOrList !== 'string') {
      // If a null reference was passed on, the call would return the first document of the collection.
      if (!isObject(idOrList))
        throw new TypeError(`findOne needs an id, or an object with where, got ${shown(idOrList)}`);
      const list = { ...idOrList, ...options, limit: 1 };
      return (await bodyOf<Page<unknown>>({ method: 'GET', path, options: list, gives: isPage })).docs[0] ?? null;
    }
    try {
      return await bodyOf({ method: 'GET', path: pathOf(idOrList), options });
    } catch (error) {
      if (isNoDocument(error)) return null;
      throw error;
    }
  }

  async function absence(id: string, options: object): Promise<Absence | null> {
    try {
      await bodyOf({ method: 'GET', path: pathOf(id), options });
      return null;
    } catch (error) {
      if (!isNoDocument(error)) throw error;
      const { created, deleted } = (error as ApiError).body as { created?: Turn; deleted?: Turn };
      return created ? { created } : deleted ? { deleted } : null;
    }
  }

  return {
    find: (options?: object) => bodyOf({ method: 'GET', path, options, gives: isPage }),
    findOne,
    absence,
    findAll: (options: object = {}) =>
      everyDocument(
        (query) => call({ method: 'GET', path, options: query, gives: (body) => isNextOf(body, query.next) }),
        options,
      ),
    aggregate: (options?: object) => bodyOf({ method: 'GET', path: `${path}/aggregate`, options }),
    distinct: (field: string, options?: object) => {
      return bodyOf({ method: 'GET', path: `${path}/distinct`, options: { ...options, field } });
    },
    count: async (options?: object) => {
      const body = await bodyOf<{ total: number }>({ method: 'GET', path: `${path}/count`, options, gives: isCount });
      return body.total;
    },
    references: async (id: string, options?: object) => {
      return bodyOf({ method: 'GET', path: `${pathOf(id)}/references`, options, gives: isPage });
    },
    trash: (options?: object) => bodyOf({ method: 'GET', path: `${path}/trash`, options, gives: isPage }),
    create: (data: object, options?: KeyedOptions) => bodyOf({ method: 'POST', path, data, options, isKeyed: true }),
    update: async (id: string, data: object, options?: WriteOptions) => {
      return bodyOf({ method: 'PATCH', path: pathOf(id), data, options, isKeyed: true });
    },
    delete: async (id: string, options?: WriteOptions) => {
      return bodyOf({ method: 'DELETE', path: pathOf(id), options, isKeyed: true });
    },
    restore: async (id: string, source: RestoreSource, options?: object) => {
      return bodyOf(restoreCall(pathOf(id), source, options));
    },
    publish: async (id: string, source?: object, options?: object) => {
      return bodyOf(publishCall(pathOf(id), source, options));
    },
    unpublish: async (id: string, options?: WriteOptions) => {
      return bodyOf({ method: 'POST', path: `${pathOf(id)}/unpublish`, options, isKeyed: true });
    },
    discard: async (id: string, options?: WriteOptions) => {
      return bodyOf({ method: 'POST', path: `${pathOf(id)}/discard`, options, isKeyed: true });
    },
    requestReview: async (id: string, data: object = {}, options?: WriteOptions) => {
      return bodyOf({ method: 'POST', path: `${pathOf(id)}/review`, data, options, isKeyed: true });
    },
    withdrawReview: async (id: string, options?: WriteOptions) => {
      return bodyOf({ method: 'DELETE', path: `${pathOf(id)}/review`, options, isKeyed: true });
    },
    refuseReview: async (id: string, data: object, options?: WriteOptions) => {
      return bodyOf({ method: 'POST', path: `${pathOf(id)}/review/refuse`, data, options, isKeyed: true });
    },
    history: async (id: string, options?: object) => {
      return bodyOf({ method: 'GET', path: `/api/audit/documents/${slug}/${segment('id', id)}`, options });
    },
  } satisfies Record<Methods, unknown>;
}

/** The calls about a global. */
export function globalOf({ bodyOf }: Caller, slug: string) {
  const path = `/api/globals/${slug}`;
  return {
    get: (options?: object) => bodyOf({ method: 'GET', path, options }),
    update: (data: object, options?: WriteOptions) => bodyOf({ method: 'PATCH', path, data, options, isKeyed: true }),
    restore: (source: RestoreSource, options?: object) => bodyOf(restoreCall(path, source, options)),
    publish: (source?: object, options?: object) => bodyOf(publishCall(path, source, options)),
    discard: (options?: WriteOptions) => bodyOf({ method: 'POST', path: `${path}/discard`, options, isKeyed: true }),
    requestReview: (data: object = {}, options?: WriteOptions) =>
      bodyOf({ method: 'POST', path: `${path}/review`, data, options, isKeyed: true }),
    withdrawReview: (options?: WriteOptions) =>
      bodyOf({ method: 'DELETE', path: `${path}/review`, options, isKeyed: true }),
    refuseReview: (data: object, options?: WriteOptions) =>
      bodyOf({ method: 'POST', path: `${path}/review/refuse`, data, options, isKeyed: true }),
    history: (options?: object) => bodyOf({ method: 'GET', path: `/api/audit/globals/${slug}`, options }),
  } satisfies Record<keyof GlobalClient<AnyConfig, string>, unknown>;
}

/** A restore, or its dry run. */
function restoreCall(path: string, data: RestoreSource, options?: object): Call {
  return tryableCall(`${path}/restore`, data, options);
}

/** A publication, or its dry run. */
function publishCall(path: string, source: object = {}, options?: object): Call {
  return tryableCall(`${path}/publish`, source, options);
}

function tryableCall(path: string, data: object, options: object = {}): Call {
  const isDry = 'dryRun' in options && options.dryRun === true;
  return { method: 'POST', path, data, options, isKeyed: !isDry, isRepeatable: isDry };
}

/** True for a body that is a page of a list. */
export function isPage(body: unknown): boolean {
  return isObject(body) && Array.isArray(body.docs);
}

/**
 * @param next the cursor of the request. A program that ignores the parameters would return the same cursor for ever.
 */
function isNextOf(body: unknown, next: string): boolean {
  if (!isPage(body) || !isObject(body)) return false;
  return body.next === null || (typeof body.next === 'string' && body.next !== next);
}

function isCount(body: unknown): boolean {
  return isObject(body) && typeof body.total === 'number';
}

/** True for a 404 of the service about the document. A 404 about the route means that there is no such collection. */
function isNoDocument(error: unknown): boolean {
  if (!(error instanceof ApiError && error.status === 404)) return false;
  return isObject(error.body) && !error.message.startsWith('there is no GET ');
}

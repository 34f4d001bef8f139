import { accountsOf } from './accounts.ts';
import { mediaUrlOf, readBaseUrl, segment, shown } from './address.ts';
import { isObject } from './answers.ts';
import type { Client } from './api.ts';
import { auditOf } from './audit.ts';
import { batchOf, bulkOf, undoOf } from './bulk.ts';
import { openCaller } from './calls.ts';
import { documentsOf, globalOf, isPage } from './documents.ts';
import { draftsOf } from './drafts.ts';
import { filesOf } from './files.ts';
import { keysOf } from './keys.ts';
import type { CallOptions, ClientOptions } from './options.ts';
import { releasesOf } from './releases.ts';
import type { AnyConfig } from './types/config.ts';
import { webhooksOf } from './webhooks.ts';

/**
 * Makes a client of a service. A client holds at most one login, so on a server make one for each user.
 *
 * With the type of the configuration, all methods are typed by its fields: `createClient<typeof config>({ baseUrl })`.
 *
 * @throws TypeError for an invalid `baseUrl`, and for an unknown option.
 */
export function createClient<C extends AnyConfig = AnyConfig>(options: ClientOptions): Client<C>;
// The configuration determines the results of calls, and here it is not known.
export function createClient(options: ClientOptions): Record<keyof Client, unknown> {
  refuseUnknown(options);
  const baseUrl = readBaseUrl(options.baseUrl);
  const caller = openCaller(baseUrl, options);
  const { bodyOf, session } = caller;
  return {
    get token() {
      return session.get();
    },
    set token(token: string | null) {
      session.set(token || null);
    },
    collection: (name: string) => {
      const slug = segment('the slug of a collection', name);
      // This object has all methods. The types show only those that the collection has, and the service refuses the
      // others.
      return {
        ...documentsOf(caller, slug),
        ...bulkOf(caller, slug),
        ...filesOf(caller, slug),
        ...accountsOf(caller, slug),
      };
    },
    global: (name: string) => globalOf(caller, segment('the slug of a global', name)),
    keys: keysOf(caller),
    webhooks: webhooksOf(caller),
    releases: releasesOf(caller),
    search: (words: string, own?: object) => {
      return bodyOf({ method: 'GET', path: '/api/search', options: { ...own, q: words }, gives: isFound });
    },
    counts: async (own?: object) => {
      const call = { method: 'GET', path: '/api/counts', options: own, gives: hasCollections } as const;
      return (await bodyOf<{ collections: object }>(call)).collections;
    },
    reviews: (own?: object) => bodyOf({ method: 'GET', path: '/api/reviews', options: own, gives: isPage }),
    trash: (own?: object) => bodyOf({ method: 'GET', path: '/api/trash', options: own, gives: isPage }),
    audit: auditOf(caller),
    batch: batchOf(caller),
    undo: undoOf(caller),
    schemas: (own?: object) => bodyOf({ method: 'GET', path: '/api/schemas', options: own }),
    boot: (own?: CallOptions) => bodyOf({ method: 'GET', path: '/api/admin/boot', options: own, isPublic: true }),
    drafts: draftsOf(caller),
    preferences: {
      get: (own?: CallOptions) => bodyOf({ method: 'GET', path: '/api/preferences', options: own }),
      update: (data: object, own?: CallOptions) =>
        bodyOf({ method: 'PATCH', path: '/api/preferences', data, options: own, isRepeatable: true }),
    },
    previewToken: (data: object, own?: CallOptions) =>
      // A repeated call only keeps the draft once more, for as long.
      bodyOf({ method: 'POST', path: '/api/preview-token', data, options: own, isRepeatable: true }),
    previewTokens: {
      list: (own?: object) => bodyOf({ method: 'GET', path: '/api/preview-tokens', options: own, gives: isPage }),
      revoke: (id: string, own?: CallOptions) =>
        bodyOf({ method: 'DELETE', path: `/api/preview-tokens/${segment('the id of a token', id)}`, options: own }),
    },
    previewData: (token: string, own?: CallOptions) => {
      return bodyOf({ method: 'GET', path: '/api/preview-data', options: { ...own, token }, isPublic: true });
    },
    mediaUrl: (file: string | object) => mediaUrlOf(baseUrl, file),
    etagOf: caller.tagOf,
  };
}

function isFound(body: unknown): boolean {
  return isObject(body) && Array.isArray(body.docs);
}

function hasCollections(body: unknown): boolean {
  return isObject(body) && isObject(body.collections);
}

const names = [
  'baseUrl',
  'apiKey',
  'siteId',
  'token',
  'onToken',
  'onUnauthorized',
  'fetch',
  'headers',
  'timeout',
  'retries',
];

/** Without this check, a misspelled option such as `onUnauthorised` would be ignored silently. */
function refuseUnknown(options: object): void {
  for (const name of Object.keys(options)) {
    if (!names.includes(name))
      throw new TypeError(`createClient has no option ${shown(name)}; it has ${names.join(', ')}`);
  }
}

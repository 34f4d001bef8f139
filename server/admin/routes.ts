import { join } from 'node:path';
import type { Request, ResponseObject, ResponseToolkit, Server } from '@hapi/hapi';
import type { App } from '../app.ts';
import { strategy } from '../callers/authentication.ts';
import { answerMissing } from '../http/errors.ts';
import { noRoute } from '../http/requests.ts';
import { contentSecurityPolicy } from '../http/static.ts';
import { adminFolder } from '../platform/carried.ts';
import { barePolicy, notBuilt, substituteFor } from './not-built.ts';
import { type AdminMount, readShell, shellPolicy } from './shell.ts';

/**
 * A token may be in the address: no other origin is told of it, and no other page can show these pages or hold their
 * window.
 */
const headers = {
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
};

/** The names of built files: without a folder, not hidden. */
const plainName = /^\w[\w.-]*$/;

/**
 * `/admin` and all below it: the admin application, for everybody, because it logs users in itself; `GET /` redirects
 * browsers to it. If the configuration turns the application off, these routes do not exist.
 */
export function adminPages(server: Server, app: App): void {
  const { model, site, basePath, adminFolder: folder = adminFolder() } = app;
  if (!model.admin) return;
  const place: AdminMount = { mount: basePath.replace(/\/$/, ''), site };
  const policy = shellPolicy(model);
  server.route({
    method: 'GET',
    path: '/admin/{path*}',
    options: { auth: false },
    handler: async (request, h) => {
      const page = await readShell(folder, place);
      if (page === null) return withoutIt(request, h, { app, mount: place.mount });
      const response = h.response(page.html).type('text/html').etag(page.etag);
      return secured(response, policy).header('cache-control', 'no-cache');
    },
  });
  server.route({
    method: 'GET',
    path: '/',
    options: { auth: strategy },
    handler: (request, h) => {
      if (!wantsPage(request)) throw noRoute(request);
      return h.redirect(`${place.mount}/admin`).header('cache-control', 'no-cache').vary('accept');
    },
  });
  adminAssets(server, folder);
}

/**
 * The files of the application, which are the same for every site. A name contains the hash of its file, so that it may
 * be cached for ever.
 */
export function adminAssets(server: Server, folder = adminFolder()): void {
  // This route takes all paths below it, so that a missing file is not answered with a page.
  server.route({
    method: 'GET',
    path: '/admin/assets/{name*}',
    options: { auth: false },
    handler: (request, h) => {
      const name = String(request.params.name ?? '');
      if (!plainName.test(name)) throw noRoute(request);
      const response = h.file(join(folder, 'assets', name), { confine: false, etagMethod: 'hash' });
      return secured(response, contentSecurityPolicy).header('cache-control', 'public, max-age=31536000, immutable');
    },
  });
}

function secured(response: ResponseObject, policy: string): ResponseObject {
  for (const [name, value] of Object.entries(headers)) response.header(name, value);
  return response.header('content-security-policy', policy);
}

function withoutIt(request: Request, h: ResponseToolkit, { app, mount }: { app: App; mount: string }): ResponseObject {
  const substitute = substituteFor(String(request.params.path ?? ''), app.model);
  const response =
    substitute === null ? answerMissing(h, notBuilt) : h.redirect(`${mount}${substitute}${queryOf(request)}`);
  return secured(response, barePolicy).header('cache-control', 'no-store');
}

function queryOf({ raw: { req } }: Request): string {
  const { url = '' } = req;
  return url.includes('?') ? url.slice(url.indexOf('?')) : '';
}

/** Whether a request is a browser's request for a page: other clients accept anything, or say nothing. */
function wantsPage({ headers: { accept } }: Request): boolean {
  return /(?:^|,)\s*text\/html\s*(?:,|;|$)/i.test(String(accept ?? ''));
}

import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { ResponseObject, ResponseToolkit, Server } from '@hapi/hapi';
import type { App } from '../app.ts';
import { once } from '../once.ts';

/** What mails and the setup link open, where the author has no page of his own. */
const pages = ['accept-invite', 'reset-password', 'setup'] as const;

/** No collection can be in the way: a slug has no dot. */
const assets: Record<string, string> = { 'account.js': 'text/javascript', 'account.css': 'text/css' };

/** A token is in the address: nothing of another origin is loaded or told of it, and no other page can show this one. */
const headers = {
  'content-security-policy': [
    "default-src 'self'",
    "img-src 'self' data:",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
};

/** `/account/:slug/accept-invite`, `…/reset-password` and `…/setup` of every auth collection, for people without a client. */
export function accountPages(server: Server, { collections }: Pick<App, 'collections'>): void {
  const shell = once(async () => String(await readFile(own('index.html'))));
  for (const { model } of collections.values()) {
    if (!model.auth) continue;
    const login = `data-login="${escapeHtml(model.urls.login ?? '')}"`;
    for (const page of pages) {
      server.route({
        method: 'GET',
        path: `/account/${model.slug}/${page}`,
        options: { auth: false },
        handler: async (_request, h) => {
          const html = (await shell()).replace('data-login=""', () => login);
          return send(h, html, 'text/html').header('cache-control', 'no-store');
        },
      });
    }
  }
  for (const [name, type] of Object.entries(assets)) {
    const read = once(async () => {
      const content = await readFile(own(name));
      return { content, tag: hash('sha256', content, 'base64url') };
    });
    server.route({
      method: 'GET',
      path: `/account/${name}`,
      options: { auth: false },
      handler: async (_request, h) => {
        const { content, tag } = await read();
        return send(h, content, type).etag(tag);
      },
    });
  }
}

function own(name: string): string {
  return fileURLToPath(new URL(`../account-pages/${name}`, import.meta.url));
}

function send(h: ResponseToolkit, content: string | Buffer, type: string): ResponseObject {
  const response = h.response(content).type(type);
  for (const [name, value] of Object.entries(headers)) response.header(name, value);
  return response;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

import type { Server } from '@hapi/hapi';
import type { App } from '../../app.ts';
import { contentSecurityPolicy, serveFile } from '../../http/static.ts';
import { readAsset } from '../../platform/carried.ts';
import { escapeHtml } from '../../platform/html.ts';
import { once } from '../../platform/once.ts';
import { type AccountPage, accountPath, adminNames } from './links.ts';

const pages = Object.keys(adminNames) as AccountPage[];

/** No collection can be in the way: a slug has no dot. */
const assets = [
  { name: 'account.js', type: 'text/javascript', asset: 'server/accounts/pages/account.js' },
  { name: 'account.css', type: 'text/css', asset: 'server/accounts/pages/account.css' },
] as const;

/**
 * A token is in the address: nothing of another origin is loaded or told of it, and no other page can show this one or
 * hold its window.
 */
const headers = {
  'content-security-policy': contentSecurityPolicy,
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
};

/**
 * `/account/:slug/accept-invite`, `…/reset-password` and `…/setup` of every auth collection, for people without a
 * client.
 */
export function accountPages(server: Server, { collections }: Pick<App, 'collections'>): void {
  const shell = once(async () => (await readAsset('server/accounts/pages/index.html')).toString());
  for (const { model } of collections.values()) {
    if (!model.auth) continue;
    const login = `data-login="${escapeHtml(model.urls.login ?? '')}"`;
    for (const page of pages) {
      server.route({
        method: 'GET',
        path: accountPath(page, model.slug, false),
        options: { auth: false },
        handler: async (_request, h) => {
          const response = h.response((await shell()).replace('data-login=""', () => login)).type('text/html');
          for (const [name, value] of Object.entries(headers)) response.header(name, value);
          return response.header('cache-control', 'no-store');
        },
      });
    }
  }
  accountAssets(server);
}

/** The scripts and styles of those pages: the same for every collection. */
export function accountAssets(server: Server): void {
  for (const { name, ...file } of assets) serveFile(server, `/account/${name}`, { ...file, headers });
}

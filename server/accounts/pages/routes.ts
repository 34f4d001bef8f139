import type { Server } from '@hapi/hapi';
import type { App } from '../../app.ts';
import { contentSecurityPolicy, serveFile } from '../../http/static.ts';
import { readAsset } from '../../platform/carried.ts';
import { escapeHtml } from '../../platform/html.ts';
import { once } from '../../platform/once.ts';
import { type AccountPage, accountPath, adminNames } from './links.ts';

const pages = Object.keys(adminNames) as AccountPage[];

/** Their names have a dot, so no slug of a collection can be one of them. */
const assets = [
  { name: 'account.js', type: 'text/javascript', asset: 'server/accounts/pages/account.js' },
  { name: 'account.css', type: 'text/css', asset: 'server/accounts/pages/account.css' },
] as const;

/**
 * The address of these pages has a token: they load nothing from another origin, send it no referrer, and no other page
 * can frame them or hold their window.
 */
const headers = {
  'content-security-policy': contentSecurityPolicy,
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
};

/**
 * The pages `/account/:slug/accept-invite`, `…/reset-password` and `…/setup` of every auth collection, for services
 * without a front end that has them.
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

/** The scripts and styles of those pages, for all collections. */
export function accountAssets(server: Server): void {
  for (const { name, ...file } of assets) serveFile(server, `/account/${name}`, { ...file, headers });
}

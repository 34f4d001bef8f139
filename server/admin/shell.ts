import { hash } from 'node:crypto';
import type { AdminOptions, Model } from '../../config/model.ts';
import { readAdminPage } from '../platform/carried.ts';
import { escapeHtml } from '../platform/html.ts';

/** The path before `/admin`, empty at the root; and the site, or null if there is only one. */
export type AdminMount = { mount: string; site: string | null };

/** A page, and the ETag of its text. */
type Page = { html: string; etag: string };

/**
 * The only page of the admin application, which draws all others. Its files have relative names, but it is served under
 * many paths, and the policy forbids `<base>`: so their addresses begin with the mount path here.
 *
 * @returns null if the application was not built.
 */
export async function readShell(folder: string, { mount, site }: AdminMount): Promise<Page | null> {
  const built = await readAdminPage(folder);
  if (built === null) return null;
  const own = escapeHtml(mount);
  const html = built
    .replace('data-mount=""', () => `data-mount="${own}"`)
    .replace('data-site=""', () => `data-site="${escapeHtml(site ?? '')}"`)
    .replaceAll('"./', () => `"${own}/admin/`);
  return { html, etag: hash('sha256', html, 'base64url').slice(0, 22) };
}

/**
 * The policy of that page: scripts, styles and requests only from our origin, no frame in other pages. Pictures may
 * also be files that are not uploaded yet (`blob:`) and the author's logo; frames may show the sites of live previews.
 */
export function shellPolicy({ admin, collections, globals }: Pick<Model, 'admin' | 'collections' | 'globals'>): string {
  const previews = [...collections.values(), ...globals.values()].flatMap(({ schema }) => schema.admin?.preview ?? []);
  return [
    "default-src 'self'",
    ["img-src 'self' data: blob:", ...originsOf(logosOf(admin))].join(' '),
    ["frame-src 'self'", ...originsOf(previews)].join(' '),
    "connect-src 'self'",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; ');
}

function logosOf(admin: AdminOptions | null): string[] {
  return admin?.logo?.startsWith('http') ? [admin.logo] : [];
}

/** Sorted, so that the order of collections does not change the policy. */
function originsOf(addresses: readonly string[]): string[] {
  const origins = addresses.map((address) => new URL(address.replaceAll('{token}', 'token')).origin);
  return [...new Set(origins)].sort();
}

import type { MailReview, Model } from '../../../config/model.ts';

/** The names of the pages that links in mails and the setup link open, below `/admin/` in the admin application. */
export const adminNames = { 'accept-invite': 'accept-invite', 'reset-password': 'reset', setup: 'setup' } as const;

/** A page that a link in a mail or the setup link opens, by its name below `/account/SLUG/`. */
export type AccountPage = keyof typeof adminNames;

/** Whether the users of a collection work in the admin application, so that their links open its pages. */
export function worksInAdmin(
  { admin, adminCollection }: Pick<Model, 'admin' | 'adminCollection'>,
  slug: string,
): boolean {
  return admin !== null && slug === adminCollection;
}

/** The path of a page for the users of a collection, below the mount path. */
export function accountPath(page: AccountPage, slug: string, isInAdmin: boolean): string {
  return isInAdmin ? `/admin/${adminNames[page]}` : `/account/${slug}/${page}`;
}

/** The path of the page of a document or global in the admin application, below the mount path. */
export function documentPath({ collection, global, id }: Pick<MailReview, 'collection' | 'global' | 'id'>): string {
  return global === null ? `/admin/c/${collection}/${id}` : `/admin/g/${global}`;
}

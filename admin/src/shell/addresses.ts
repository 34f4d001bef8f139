import type { OwnDraft } from '../../../client/index.ts';

/** The addresses of the pages, below `/admin`. */
export const addresses = {
  home: '/',
  list: (slug: string) => `/c/${slug}`,
  create: (slug: string) => `/c/${slug}/new`,
  document: (slug: string, id: string) => `/c/${slug}/${encodeURIComponent(id)}`,
  history: (slug: string, id: string) => `/c/${slug}/${encodeURIComponent(id)}/history`,
  references: (slug: string, id: string) => `/c/${slug}/${encodeURIComponent(id)}/references`,
  global: (slug: string) => `/g/${slug}`,
  globalHistory: (slug: string) => `/g/${slug}/history`,
  media: '/media',
  trash: '/trash',
  people: (slug: string) => `/people/${slug}`,
  person: (slug: string, id: string) => `/people/${slug}/${encodeURIComponent(id)}`,
  keys: '/keys',
  me: '/me',
  login: '/login',
  forgot: '/forgot',
  setup: '/setup',
  acceptInvite: '/accept-invite',
  reset: '/reset',
};

/** The page that continues unsaved changes. */
export function addressOfDraft(draft: OwnDraft): string {
  if ('global' in draft) return addresses.global(draft.global);
  const { collection, id } = draft;
  return id.startsWith('new-') ? `${addresses.create(collection)}?draft=${id}` : addresses.document(collection, id);
}

import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import type { Service } from '../helpers/service.ts';

/** A page as the tests and the pictures show it. */
export type Shown = {
  path: string;
  /** Before a login. */
  isOutside?: boolean;
  /** Opens something on it: a menu, a dialog. */
  open?: (page: Page) => Promise<void>;
  /** Answers that it provokes. */
  refusals?: number[];
};

const click = (role: 'button' | 'menuitem' | 'tab', name: string | RegExp) => (page: Page) =>
  page.getByRole(role, { name }).first().click();

/** The pages of the application with the atlas, by name. `LIE`, `STORY`, `FLAG` and `EDITOR` in an address are ids. */
export const pages: Record<string, Shown> = {
  login: { path: '/login', isOutside: true },
  forgot: { path: '/forgot', isOutside: true },
  reset: { path: '/reset?token=x', isOutside: true },
  'accept-invite': { path: '/accept-invite?token=x', isOutside: true },
  home: { path: '' },
  'home-menu': { path: '', open: click('button', /^Logged in as/) },
  'home-past': { path: '?asOf=900' },
  'home-as-of': { path: '', open: click('button', 'As of') },
  countries: { path: '/c/countries' },
  'countries-past': { path: '/c/countries?asOf=900' },
  'countries-none': { path: '/c/countries?q=zzzzzz' },
  stories: { path: '/c/stories' },
  'story-new': { path: '/c/stories/new' },
  story: { path: '/c/stories/STORY' },
  country: { path: '/c/countries/LIE' },
  'country-past': { path: '/c/countries/LIE?asOf=900' },
  'country-not-yet': { path: '/c/countries/LIE?asOf=9', refusals: [404] },
  history: { path: '/c/stories/STORY/history?v=2' },
  'history-not-yet': { path: '/c/stories/STORY/history?asOf=9', refusals: [404] },
  restore: { path: '/c/stories/STORY/history?v=1', open: click('button', 'Restore') },
  references: { path: '/c/flags/FLAG/references' },
  site: { path: '/g/site' },
  'site-history': { path: '/g/site/history' },
  media: { path: '/media' },
  trash: { path: '/trash' },
  'trash-past': { path: '/trash?asOf=900' },
  editors: { path: '/people/editors' },
  invite: { path: '/people/editors', open: click('button', 'Invite') },
  editor: { path: '/people/editors/EDITOR' },
  keys: { path: '/keys' },
  'new-key': { path: '/keys', open: click('button', 'New key') },
  me: { path: '/me' },
  'not-found': { path: '/nowhere' },
};

/** Gives the addresses of the pages of a service, once it is there. */
export async function addressesOf(service: Pick<Service, 'call'>): Promise<(shown: Shown) => string> {
  const idOf = async (slug: string, field: string, value: string): Promise<string> => {
    const path = `/api/collections/${slug}?where[${field}][equals]=${encodeURIComponent(value)}`;
    const { body } = await service.call('GET', path);
    assert.equal(body.total, 1, `${value} in ${slug}`);
    return body.docs[0].id;
  };
  const ids: Record<string, string> = {
    LIE: await idOf('countries', 'code', 'LIE'),
    STORY: await idOf('stories', 'slug', 'an-island-without-people'),
    FLAG: await idOf('flags', 'code', 'LIE'),
    EDITOR: await idOf('editors', 'email', 'ada@example.org'),
  };
  return ({ path }) => path.replace(/\b(LIE|STORY|FLAG|EDITOR)\b/, (name) => ids[name] ?? name);
}

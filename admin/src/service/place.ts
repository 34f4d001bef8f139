const { mount = '', site = '' } = document.documentElement.dataset;

/** The path that the service is mounted at, without a slash at its end; empty at the root. */
export const mountPath = mount;

/** The path of the application's own pages. */
export const adminPath = `${mount}/admin`;

/** The site that the page was opened for, if one service serves many. */
export const siteId = site || undefined;

/** The address of the login, with the site. */
export const loginAddress = `${adminPath}/login${siteId === undefined ? '' : `?${new URLSearchParams({ site: siteId })}`}`;

/** A name in the storage of the browser: one origin may serve several services. */
export function storageName(name: string): string {
  return ['annals', mount, site, name].filter(Boolean).join(':');
}

/**
 * The kinds of data of an account in the storage of the browser, besides its unsaved changes: the documents that it
 * opened last, and the state of its lists.
 */
const ofAccounts = ['recent', 'list'] as const;

/** The name in the storage of the browser for data of an account, which is given as `<collection>/<id>`. */
export function storageNameOf(account: string, kind: (typeof ofAccounts)[number], ...more: string[]): string {
  return [storageName(kind), account, ...more].join(':');
}

/** Deletes the data of an account from the storage of the browser. */
export function clearStorageOf(account: string): void {
  const starts = ofAccounts.map((kind) => storageNameOf(account, kind));
  for (const storage of [localStorage, sessionStorage]) {
    for (const name of Object.keys(storage)) {
      if (starts.some((start) => name === start || name.startsWith(`${start}:`))) storage.removeItem(name);
    }
  }
}

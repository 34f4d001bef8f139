const { mount = '', site = '' } = document.documentElement.dataset;

/** The path that the service is mounted at, without a slash at its end; empty at the root. */
export const mountPath = mount;

/** The path of the application's own pages. */
export const adminPath = `${mount}/admin`;

/** The site that the page was opened for, where one service serves many. */
export const siteId = site || undefined;

/** A name in the storage of the browser: one origin may serve several services. */
export function storageName(name: string): string {
  return ['annals', mount, site, name].filter(Boolean).join(':');
}

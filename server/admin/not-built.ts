import type { Model } from '../../config/model.ts';
import { type AccountPage, accountPath, adminNames } from '../accounts/pages/links.ts';

/** The policy of a page that loads nothing. */
export const barePolicy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/**
 * The page that replaces the application in a checkout that has not built it. The package and the binary always have
 * it.
 */
export const notBuilt = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>The admin application is not built</title>
  </head>
  <body>
    <h1>The admin application is not built</h1>
    <p>All else of the service works. In the folder of the checkout, this command builds it; then load this page again:</p>
    <pre>npm run build --workspace admin</pre>
    <p>It needs the packages for development, which <code>npm ci</code> installs.</p>
  </body>
</html>
`;

/**
 * The built-in page with the same purpose as a page of the application that a link opens, such as `/admin/setup`: links
 * that were sent must work without the application too.
 *
 * @param path below `/admin/`.
 * @returns null for any other page.
 */
export function substituteFor(path: string, { adminCollection }: Pick<Model, 'adminCollection'>): string | null {
  const page = (Object.keys(adminNames) as AccountPage[]).find((name) => adminNames[name] === path);
  return page === undefined || adminCollection === null ? null : accountPath(page, adminCollection, false);
}

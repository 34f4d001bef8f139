import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { form, root } from './form.ts';

const require = createRequire(import.meta.url);

/** Files of this project that are read at run time, by their path from the root. */
export const ownAssets = [
  'server/accounts/pages/account.css',
  'server/accounts/pages/account.js',
  'server/accounts/pages/index.html',
  'cli/annals-types.txt',
  'server/openapi/docs/docs.css',
  'server/openapi/docs/docs.js',
  'server/openapi/docs/index.html',
  'server/openapi/docs/overview.js',
  'server/openapi/docs/swagger.js',
  'verify/annals-verify.mjs',
] as const;

/**
 * Files of other packages that are read at run time: package and file. Our package has copies of them below `vendor/`.
 */
export const foreignAssets = ['swagger-ui-dist/swagger-ui-bundle.js', 'swagger-ui-dist/swagger-ui.css'] as const;

/** A carried file. */
export type AssetName = (typeof ownAssets)[number] | (typeof foreignAssets)[number];

/** Reads a carried file: in the checkout and in the package from the disk, in the binary from the executable. */
export async function readAsset(name: AssetName): Promise<Buffer> {
  return isBinary() ? Buffer.from(executable().getAsset(name)) : readFile(assetPath(name));
}

/** The path of a carried file. In the binary only @hapi/inert finds a file there (binary/assets-fs.cjs). */
export function assetPath(name: AssetName): string {
  const isForeign = foreignAssets.some((one) => one === name);
  return isForeign && !isBinary() ? carriedFile(name) : fileURLToPath(new URL(name, root));
}

/**
 * The folder of the built admin application. In the binary only {@link readAdminPage} and @hapi/inert find files there.
 */
export function adminFolder(): string {
  return fileURLToPath(new URL(isCheckout() ? 'admin/dist' : 'admin', root));
}

/** The page of the admin application in its folder; null if it was not built. */
export async function readAdminPage(folder: string): Promise<string | null> {
  if (isBinary()) return executable().getAsset('admin/index.html', 'utf8');
  return readFile(join(folder, 'index.html'), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
}

/** Whether this process is the binary (docs/binary.md) rather than Node with our modules as files. */
export function isBinary(): boolean {
  return form === 'binary';
}

/** The folders of our modules, below the root. */
const ownFolders = isCheckout()
  ? ['cli', 'client', 'config', 'events', 'projections', 'server', 'storage', 'verify', 'build/bundle']
  : ['app', 'client', 'config', 'vendor', 'verify'];

/** Whether a module is ours, by its address, and neither the author's configuration nor part of a package. */
export function isOwnModule(url: string): boolean {
  if (isBinary()) return url.startsWith(root.href);
  return ownFolders.some((folder) => url.startsWith(new URL(`${folder}/`, root).href));
}

/** The text of the module that each thread of the binary begins with: binary/bootstrap.cjs. */
export function bootstrapText(): string {
  return executable().getAsset('bootstrap.cjs', 'utf8');
}

/** The version of the binary, a text that identifies its code, and the commit it was built from, if that is known. */
export function binaryBuild(): { version: string; build: string; commit: string | null } {
  return JSON.parse(executable().getAsset('build.json', 'utf8'));
}

/** Whether this process runs in a checkout: the sources as they are, or its bundle. */
export function isCheckout(): boolean {
  return form === 'sources' || form === 'checkout';
}

/**
 * The address of one of our modules that is not imported.
 *
 * @param path the path of its source from the root, without an extension.
 * @param bundled the name of its file in a bundle; null: it is in no bundle.
 */
export function ownModule(path: string, bundled: string | null): URL {
  if (bundled === null || form === 'sources') return new URL([path, 'ts'].join('.'), root);
  return new URL(`${bundled}.mjs`, import.meta.url);
}

/** The path of a file of another package that ours carries (build.ts): the copy, or in the checkout the file itself. */
export function carriedFile(path: string): string {
  return isCheckout() ? require.resolve(path) : fileURLToPath(new URL(`vendor/${path}`, root));
}

/** Not every Node has this module, so only the binary asks for it. */
function executable(): typeof import('node:sea') {
  return process.getBuiltinModule('node:sea');
}

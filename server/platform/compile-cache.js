import { accessSync, constants, existsSync, mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Where compiled code is kept: in the `node_modules` that the package is installed in, or that of the checkout; where
 * that is not for us to write, as in an installation of root's, in the user's own folder for such things. Never in the
 * system's folder for temporary files, where others could put something else in its place.
 *
 * @returns {string | undefined} undefined where nothing can be kept.
 */
export function compileCacheFolder() {
  const [installed] = /^.*[\\/]node_modules(?=[\\/])/.exec(fileURLToPath(import.meta.url)) ?? [];
  // From server/platform/, or from dist/server/platform/.
  const checkout = ['../../node_modules', '../../../node_modules'].map((path) =>
    fileURLToPath(new URL(path, import.meta.url)),
  );
  const modules = installed ?? checkout.find((path) => existsSync(path));
  const own = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
  return [...(modules ? [join(modules, '.cache')] : []), own].map((path) => join(path, 'annals')).find(isWritable);
}

/** @param {string} folder */
function isWritable(folder) {
  try {
    mkdirSync(folder, { recursive: true });
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

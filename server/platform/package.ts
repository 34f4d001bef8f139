import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const require = createRequire(import.meta.url);
const vendor = new URL('../../vendor/', import.meta.url);

/**
 * Where a module of ours is that is not imported, such as that of a thread: `./x.ts` beside `from` in the checkout, `./x.js` in
 * the package, which is compiled.
 *
 * @param from `import.meta.url` of the caller.
 */
export function ownModule(path: string, from: string): URL {
  return new URL(from.endsWith('.ts') ? path : path.replace(/\.ts$/, '.js'), from);
}

/** Where a file of another package is that ours carries along (build.ts): its copy, or in the checkout the file itself. */
export function carriedFile(path: string): string {
  const copy = fileURLToPath(new URL(path, vendor));
  return existsSync(copy) ? copy : require.resolve(path);
}

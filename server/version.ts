import { createRequire } from 'node:module';

/** The version of the package. */
export function version(): string {
  // By its own name, for from here it is farther away once it is built.
  return (createRequire(import.meta.url)('annals/package.json') as { version: string }).version;
}

import { readFile } from 'node:fs/promises';

const file = new URL('../../../verify/annals-verify.mjs', import.meta.url);

/** The verifier that is shipped beside the service, as it goes into every bundle and export. */
export function readVerifier(): Promise<Buffer> {
  return readFile(file);
}

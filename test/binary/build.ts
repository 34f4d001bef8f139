import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nodeFor } from '../../binary/node.ts';

export const root = fileURLToPath(new URL('../..', import.meta.url));

/** The reason why no binary can be built here, if there is one: another system, or no Node to build with. */
export function whyNotBuilt(): string | false {
  if (process.platform !== 'linux' || process.arch !== 'x64') return 'the binary is built on Linux x64';
  try {
    nodeFor('x64');
    return false;
  } catch {
    return 'npm cannot fetch the Node that the binary is built of';
  }
}

/** Builds the binary, as `npm run binary -- …` in a checkout. */
export function buildBinary(args: readonly string[] = [], checkout = root): void {
  const stdio: ['ignore', 'ignore', 'pipe'] = ['ignore', 'ignore', 'pipe'];
  execFileSync(process.execPath, [join(checkout, 'binary/build.ts'), ...args], { stdio });
}

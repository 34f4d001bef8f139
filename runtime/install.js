import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { isNewEnough } from '../server/platform/node-version.js';
import { findBrought, problemOf } from './node.js';

// npm runs this when it has changed node_modules of a checkout (the script "dependencies"). A Node is not in there, for npm would
// link it where every script finds it before the one that is there; and 190 MB are brought only where they are needed.
if (!isNewEnough()) {
  if (!findBrought()) bring();
  const problem = problemOf(findBrought());
  if (problem) console.error(problem);
}

function bring() {
  console.error(`${process.version} is too old to run Annals. npm brings another Node into runtime/node_modules`);
  const here = fileURLToPath(new URL('.', import.meta.url));
  // The environment holds the options of the outer npm; its folder must not be passed on.
  const args = ['ci', '--prefix', here, '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const { status } = spawnSync(process.execPath, [process.env.npm_execpath, ...args], { cwd: here, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}

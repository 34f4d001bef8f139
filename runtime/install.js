import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { isNewEnough } from '../server/platform/node-version.js';
import { findInstalled, problemOf } from './node.js';

// npm runs this file after a change of node_modules in a checkout (the script "dependencies"). Node is not a dependency
// of the checkout, because npm would prefer it to the installed Node in every script, and because the 190 MB should
// only be downloaded if they are needed.
if (!isNewEnough()) {
  if (!findInstalled()) install();
  const problem = problemOf(findInstalled());
  if (problem) console.error(problem);
}

function install() {
  console.error(`${process.version} is too old to run Annals. npm installs another Node into runtime/node_modules`);
  const here = fileURLToPath(new URL('.', import.meta.url));
  // The environment holds the options of the outer npm; its folder must not be passed on.
  const args = ['ci', '--prefix', here, '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const { status } = spawnSync(process.execPath, [process.env.npm_execpath, ...args], { cwd: here, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}

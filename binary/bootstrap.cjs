'use strict';
// The main thread of the binary starts here. So does every other thread, which receives this file as a text. Our
// modules are in the executable, below an address that no file has. Node itself loads everything else: the author's
// configuration, its imports and packages.
const { createHash } = require('node:crypto');
const fs = require('node:fs');
const { registerHooks } = require('node:module');
const { homedir, tmpdir } = require('node:os');
const { dirname, join } = require('node:path');
const sea = require('node:sea');
const vm = require('node:vm');
const { isMainThread, setEnvironmentData } = require('node:worker_threads');

// The address is a `file:` URL, so that createRequire and fileURLToPath work in the modules, and stacks look as usual.
const base = 'file:///%5Bannals%5D/app/';
const entries = { annals: 'annals.mjs', 'annals/server': 'annals-server.mjs', 'annals/client': 'annals-client.mjs' };

registerHooks({
  resolve(specifier, context, next) {
    const own = Object.hasOwn(entries, specifier) ? base + entries[specifier] : null;
    const isInside = specifier.startsWith('.') && context.parentURL?.startsWith(base);
    const url = own ?? (isInside ? new URL(specifier, context.parentURL).href : specifier);
    return url.startsWith(base) ? { url, format: formatOf(url), shortCircuit: true } : next(specifier, context);
  },
  load(url, context, next) {
    if (!url.startsWith(base)) return next(url, context);
    const source = sea.getAsset(`app/${url.slice(base.length)}`, 'utf8');
    return { format: formatOf(url), source, shortCircuit: true };
  },
});

if (isMainThread) {
  setEnvironmentData('annals.addons', placeAddons());
  // In the main script of an executable, import() finds only Node's own modules.
  const script = new vm.Script('(url) => import(url)', {
    importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  script.runInThisContext()(`${base}main.mjs`);
} else import(`${base}${globalThis.annalsEntry}.mjs`);

function formatOf(url) {
  return url.endsWith('.cjs') ? 'commonjs' : 'module';
}

/**
 * Writes the native addons to files, because the system can only load files. They are beside the executable in an
 * image, else in the user's cache folder, else in a private folder until the process ends. All threads load the same
 * files, because a process must have only one copy of SQLite: a second copy would undo the locks of the first.
 */
function placeAddons() {
  const digests = JSON.parse(sea.getAsset('build.json', 'utf8')).addons;
  const refusals = [];
  for (const open of [ownFolder, cacheFolder, temporaryFolder]) {
    try {
      const folder = open(digests);
      const files = Object.entries(digests).map(([name, digest]) => [name, placeAddon(folder, name, digest)]);
      // This throws if files in the folder may not be executed.
      process.dlopen({ exports: {} }, files[0][1]);
      return Object.fromEntries(files);
    } catch (error) {
      refusals.push(error.message.split('\n')[0]);
    }
  }
  console.error(
    `no folder takes the native addons of Annals: ${refusals.join('; ')}. XDG_CACHE_HOME may name one that this user may write to and execute from`,
  );
  process.exit(2);
}

/** The folder of the executable. Nothing is written there, but in an image the addons are there. */
function ownFolder(digests) {
  const folder = dirname(process.execPath);
  const other = Object.entries(digests).find(([name, digest]) => !isPlaced(addonIn(folder, name, digest), digest));
  if (other) throw new Error(`${folder} has no ${other[0]}`);
  return folder;
}

function cacheFolder() {
  const folder = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'annals');
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
  return folder;
}

function temporaryFolder() {
  const folder = fs.mkdtempSync(join(tmpdir(), 'annals-'));
  process.on('exit', () => fs.rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function placeAddon(folder, name, digest) {
  const file = addonIn(folder, name, digest);
  if (isPlaced(file, digest)) return file;
  // Two processes may do this at the same time, and one of them may be killed.
  const unfinished = `${file}.${process.pid}`;
  fs.writeFileSync(unfinished, Buffer.from(sea.getAsset(`addons/${name}`)), { mode: 0o700, flag: 'wx' });
  fs.renameSync(unfinished, file);
  return file;
}

function addonIn(folder, name, digest) {
  return join(folder, `${name}-${digest.slice(0, 16)}.node`);
}

/** Checks the content, so that a half-written file, or a file of others, is not loaded. */
function isPlaced(file, digest) {
  return fs.existsSync(file) && createHash('sha256').update(fs.readFileSync(file)).digest('hex') === digest;
}

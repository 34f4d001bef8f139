import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { bundle, root } from '../bundle.ts';
import { foreignAssets, ownAssets } from '../server/platform/carried.ts';
import { commit, version } from '../server/platform/version.ts';
import { buildAdmin } from './admin.ts';
import { licencesOf } from './licences.ts';
import { type Architecture, architectures, nodeFor, nodeVersion } from './node.ts';
import { sbomOf } from './sbom.ts';

/**
 * Makes the binary, build/annals: `npm run binary [-- --arch arm64] [--out FOLDER] [--sign KEYFILE]`. Beside the binary
 * it writes the native addons (for an image in which nothing can be written), the list of parts (CycloneDX), their
 * licences, and SHA256SUMS.
 */
const { values } = parseArgs({
  options: { arch: { type: 'string', default: 'x64' }, out: { type: 'string' }, sign: { type: 'string' } },
});
const arch = architectures.find((one) => one === values.arch);
if (!arch) throw new Error(`--arch is one of ${architectures.join(', ')}, got ${JSON.stringify(values.arch)}`);
if (process.platform !== 'linux' || process.arch !== 'x64') throw new Error('the binary is built on Linux x64');
const key = values.sign === undefined ? null : signingKey(values.sign);
const out = resolve(values.out ?? join(root, 'build'));
/** The files that are listed in SHA256SUMS, including those of the other architecture. */
const summed = /^(annals(-\w+)?(\.cdx\.json)?|LICENCES\.txt|addons(-\w+)?\/[^/]+\.node)$/;
await make(arch);
if (key) sign(join(out, 'SHA256SUMS'), key);

async function make(arch: Architecture): Promise<void> {
  const suffix = arch === 'x64' ? '' : `-${arch}`;
  const parts = join(out, `parts${suffix}`);
  rmSync(parts, { recursive: true, force: true });
  mkdirSync(join(parts, 'app'), { recursive: true });

  const { files, metafile } = await bundle('binary');
  const admin = buildAdmin();
  const assets: Record<string, string> = { 'bootstrap.cjs': join(parts, 'bootstrap.cjs') };
  copyFileSync(join(root, 'binary/bootstrap.cjs'), join(parts, 'bootstrap.cjs'));
  for (const [name, text] of files) {
    assets[`app/${name}`] = join(parts, 'app', name);
    writeFileSync(join(parts, 'app', name), text);
  }
  for (const path of ownAssets) assets[path] = join(root, path);
  for (const path of admin.files) assets[`admin/${path}`] = join(root, 'admin/dist', path);
  const { resolve } = createRequire(import.meta.url);
  for (const path of foreignAssets) assets[path] = resolve(path);

  const addons = addonsFor(arch);
  for (const [name, file] of Object.entries(addons)) assets[`addons/${name}`] = file;
  const digests = Object.fromEntries(Object.entries(addons).map(([name, file]) => [name, sha256(readFileSync(file))]));
  assets['build.json'] = join(parts, 'build.json');
  const build = sha256(JSON.stringify([version(), nodeVersion, digests, [...files]]));
  writeFileSync(assets['build.json'], JSON.stringify({ version: version(), build, commit: commit(), addons: digests }));

  const binary = join(out, `annals${suffix}`);
  const executable = stripped(nodeFor(arch), parts);
  const configuration = join(parts, 'sea.json');
  const options = {
    // A relative path: it becomes part of the executable, which must not differ between checkouts.
    main: 'bootstrap.cjs',
    output: binary,
    executable,
    // The warnings are about vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER, and about url.parse, which packages call:
    // Node only suppresses the second inside node_modules.
    execArgv: ['--disable-warning=ExperimentalWarning', '--disable-warning=DEP0169'],
    // NODE_OPTIONS could run foreign code in the service.
    execArgvExtension: 'none',
    disableExperimentalSEAWarning: true,
    useCodeCache: false,
    useSnapshot: false,
    assets,
  };
  writeFileSync(configuration, JSON.stringify(options));
  execFileSync(nodeFor('x64'), ['--build-sea', configuration], { cwd: parts, stdio: ['ignore', 'ignore', 'inherit'] });
  chmodSync(binary, 0o755);

  const beside = join(out, `addons${suffix}`);
  rmSync(beside, { recursive: true, force: true });
  mkdirSync(beside);
  for (const [name, file] of Object.entries(addons)) {
    copyFileSync(file, join(beside, `${name}-${(digests[name] as string).slice(0, 16)}.node`));
  }
  const sbom = sbomOf(metafile, {
    binary,
    builder: nodeFor('x64'),
    packages: [...foreignAssets.map((path) => `node_modules/${path.split('/')[0]}`), ...admin.packages],
  });
  writeFileSync(`${binary}.cdx.json`, `${JSON.stringify(sbom, null, 2)}\n`);
  writeFileSync(join(out, 'LICENCES.txt'), licencesOf(sbom));
  rmSync(parts, { recursive: true });
  writeSums();
  console.log(`${relative(process.cwd(), binary)}: ${(readFileSync(binary).length / 1e6).toFixed(1)} MB`);
}

/** The prebuilt native addons for glibc. */
function addonsFor(arch: Architecture): Record<string, string> {
  return {
    'better-sqlite3': join(root, `node_modules/better-sqlite3/prebuilds/linux-${arch}.node`),
    bcrypt: join(root, `node_modules/bcrypt/prebuilds/linux-${arch}/bcrypt.glibc.node`),
  };
}

/** Removes debug symbols, a fifth of the size. A file of another architecture needs its own tool. */
function stripped(node: string, folder: string): string {
  const tool = arch === 'arm64' ? 'aarch64-linux-gnu-strip' : 'strip';
  const file = join(folder, 'node');
  const { status } = spawnSync(tool, ['-s', '-o', file, node], { stdio: ['ignore', 'ignore', 'inherit'] });
  if (status === 0) return file;
  console.error(
    `not stripped, and so 33 MB larger: ${tool} is in the package binutils of Debian (for arm64, binutils-aarch64-linux-gnu)`,
  );
  return node;
}

function writeSums(): void {
  const names = readdirSync(out, { recursive: true, encoding: 'utf8' })
    .filter((name) => summed.test(name) && statSync(join(out, name)).isFile())
    .sort();
  // A signature over older sums would not verify.
  rmSync(join(out, 'SHA256SUMS.sig'), { force: true });
  const lines = names.map((name) => `${sha256(readFileSync(join(out, name)))}  ${name}\n`);
  writeFileSync(join(out, 'SHA256SUMS'), lines.join(''));
}

/** The path of the private key, checked before the work begins. */
function signingKey(file: string): string {
  if (!existsSync(file)) throw new Error(`there is no key ${file}`);
  const path = realpathSync(file);
  if (!relative(root, path).startsWith('..')) throw new Error(`${file} is in the checkout: keep the key elsewhere`);
  return path;
}

/** Signs a file for `ssh-keygen -Y verify`. ssh-keygen itself asks for the passphrase of the key. */
function sign(file: string, key: string): void {
  const { status, error } = spawnSync('ssh-keygen', ['-q', '-Y', 'sign', '-n', 'file', '-f', key, file], {
    stdio: 'inherit',
  });
  if (status === 0) return;
  throw new Error(
    error ? 'to sign takes ssh-keygen: it is in the package openssh-client of Debian' : `${file} is not signed`,
  );
}

function sha256(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}

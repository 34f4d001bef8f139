import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, normalize, resolve } from 'node:path';
import { licencesOf } from './binary/licences.ts';
import { sbomOfPackage } from './binary/sbom.ts';
import { buildOf, bundle, root } from './bundle.ts';
import { foreignAssets, ownAssets } from './server/platform/carried.ts';
import { commit } from './server/platform/version.ts';

/**
 * Makes `dist/`, which is what the package holds: `npm run build`, and npm itself before it packs. The service is a
 * bundle with all packages but those with native code; what an application imports into its own code, and may bundle,
 * is compiled file by file.
 */
const dist = join(root, 'dist');

const { bin, exports } = manifestOf(root);

rmSync(dist, { recursive: true, force: true });
execFileSync(process.execPath, ['runtime/admin.js', 'ensure'], { cwd: root, stdio: 'inherit' });
execFileSync(process.execPath, [binOf('typescript', 'tsc'), '--project', 'tsconfig.build.json'], {
  cwd: root,
  stdio: 'inherit',
});
keepReached(
  '.d.ts',
  Object.values(exports).flatMap(({ types }) => types ?? []),
);
keepReached(
  '.js',
  Object.values(exports).flatMap((entry) => entry.default?.match(/.*\.js$/) ?? []),
);
cpSync(join(root, 'admin/dist'), join(dist, 'admin'), { recursive: true });
for (const path of ownAssets) cpSync(join(root, path), join(dist, path));

const made = await bundle('package');
mkdirSync(join(dist, 'app'));
for (const [name, text] of made.files) writeFileSync(join(dist, 'app', name), text);
writeFileSync(join(dist, 'app/build.json'), JSON.stringify({ build: buildOf(made), commit: commit() }));
carry('bcrypt', ['prebuilds', 'LICENSE']);
carry('better-sqlite3', ['lib', 'prebuilds', 'LICENSE']);
carry('swagger-ui-dist', [...filesOf('swagger-ui-dist'), 'swagger-ui-bundle.js.LICENSE.txt', 'LICENSE', 'NOTICE']);
// npm does not know what is in the bundle: who looks for advisories, or has to show licences, finds it here.
const sbom = sbomOfPackage(made.metafile, ['node_modules/swagger-ui-dist']);
writeFileSync(join(dist, 'annals.cdx.json'), `${JSON.stringify(sbom, null, 2)}\n`);
writeFileSync(join(dist, 'LICENCES.txt'), licencesOf(sbom));
for (const path of Object.values(bin)) chmodSync(join(root, path), 0o755);

/** Copies files of a package whose installation is not wanted of our users: docs/dependencies.md says why. */
function carry(name: string, files: readonly string[]): void {
  const to = join(dist, 'vendor', name);
  for (const file of files) cpSync(join(folderOf(name), file), join(to, file), { recursive: true });
  // Its scripts and its exports would mislead here.
  const { version, license, main } = manifestOf(folderOf(name));
  writeFileSync(join(to, 'package.json'), `${JSON.stringify({ name, version, license, main }, null, 2)}\n`);
}

/** The files of a package that are read while the service runs. */
function filesOf(name: string): string[] {
  return foreignAssets.flatMap((asset) => (asset.startsWith(`${name}/`) ? asset.slice(name.length + 1) : []));
}

/**
 * Of all files that were compiled keeps those that an entry of the package leads to. TypeScript rewrites `.ts` to `.js`
 * in the code that it emits, and not in declarations.
 */
function keepReached(ending: '.js' | '.d.ts', entries: readonly string[]): void {
  const kept = new Set<string>();
  for (const entry of entries) keep(resolve(root, entry));

  function keep(file: string): void {
    if (kept.has(file)) return;
    kept.add(file);
    const text = readFileSync(file, 'utf8')
      .replace(/(\bfrom |\bimport\()(['"])(\.[^'"]*)\.ts\2/g, '$1$2$3.js$2')
      // Of a module that is imported for what it does, there are no types.
      .replace(/^import '\.[^']*';\n/gm, '');
    writeFileSync(file, text);
    for (const [, path = ''] of text.matchAll(/['"](\.{1,2}\/[^'"]*)\.js['"]/g))
      keep(normalize(join(dirname(file), `${path}${ending}`)));
  }

  for (const path of globSync(`**/*${ending}`, { cwd: dist }))
    if (!kept.has(join(dist, path))) rmSync(join(dist, path));
}

type Manifest = {
  version: string;
  license: string;
  main?: string;
  bin: Record<string, string>;
  exports: Record<string, { types?: string; default?: string }>;
};

function manifestOf(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
}

function binOf(name: string, command: string): string {
  return join(folderOf(name), manifestOf(folderOf(name)).bin[command] as string);
}

function folderOf(name: string): string {
  return dirname(createRequire(import.meta.url).resolve(`${name}/package.json`));
}

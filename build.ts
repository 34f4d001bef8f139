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
 * Makes `dist/`, the content of the package: `npm run build` runs it, and npm before it packs. The service is a bundle
 * with all packages except those with native code. Modules that an application imports, and may bundle itself, are
 * compiled file by file.
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
// npm does not know the packages in the bundle. These files list them, for advisories and licences.
const sbom = sbomOfPackage(made.metafile, ['node_modules/swagger-ui-dist']);
writeFileSync(join(dist, 'annals.cdx.json'), `${JSON.stringify(sbom, null, 2)}\n`);
writeFileSync(join(dist, 'LICENCES.txt'), licencesOf(sbom));
for (const path of Object.values(bin)) chmodSync(join(root, path), 0o755);

/** Copies the files of a package that our users should not have to install; docs/dependencies.md gives the reasons. */
function carry(name: string, files: readonly string[]): void {
  const to = join(dist, 'vendor', name);
  for (const file of files) cpSync(join(folderOf(name), file), join(to, file), { recursive: true });
  // The scripts and exports of the package would be wrong here.
  const { version, license, main } = manifestOf(folderOf(name));
  writeFileSync(join(to, 'package.json'), `${JSON.stringify({ name, version, license, main }, null, 2)}\n`);
}

/** The files of a package that the service reads at run time. */
function filesOf(name: string): string[] {
  return foreignAssets.flatMap((asset) => (asset.startsWith(`${name}/`) ? asset.slice(name.length + 1) : []));
}

/**
 * Keeps only those compiled files that the entries of the package import, directly or indirectly. TypeScript rewrites
 * `.ts` to `.js` in the emitted code, but not in declarations, so this function does.
 */
function keepReached(ending: '.js' | '.d.ts', entries: readonly string[]): void {
  const kept = new Set<string>();
  for (const entry of entries) keep(resolve(root, entry));

  function keep(file: string): void {
    if (kept.has(file)) return;
    kept.add(file);
    const text = readFileSync(file, 'utf8')
      .replace(/(\bfrom |\bimport\()(['"])(\.[^'"]*)\.ts\2/g, '$1$2$3.js$2')
      // A module that is imported only for its side effects has no types.
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

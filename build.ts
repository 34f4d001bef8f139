import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, normalize, relative, resolve } from 'node:path';
import { foreignAssets, ownAssets } from './server/platform/carried.ts';
import { commit } from './server/platform/version.ts';

/**
 * Makes `dist/`, which is what the package holds: `npm run build`, and npm itself before it packs. The checkout needs none
 * of it, for there Node runs the sources as they are.
 */
const root = import.meta.dirname;
const dist = join(root, 'dist');

rmSync(dist, { recursive: true, force: true });
execFileSync(process.execPath, ['runtime/admin.js', 'ensure'], { cwd: root, stdio: 'inherit' });
cpSync(join(root, 'admin/dist'), join(dist, 'admin'), { recursive: true });
execFileSync(process.execPath, [binOf('typescript', 'tsc'), '--project', 'tsconfig.build.json'], {
  cwd: root,
  stdio: 'inherit',
});
for (const path of [...ownAssets, 'server/openapi/stand-in.cjs']) cpSync(join(root, path), join(dist, path));
carry('hapi-swagger', ['index.js', 'lib', 'license.txt']);
carry('swagger-ui-dist', [...filesOf('swagger-ui-dist'), 'swagger-ui-bundle.js.LICENSE.txt', 'LICENSE', 'NOTICE']);
carry('bcrypt', ['bcrypt.js', 'promises.js', 'prebuilds', 'LICENSE']);
carry('better-sqlite3', ['lib', 'prebuilds', 'LICENSE']);
leadToCopy('bcrypt', 'bcrypt.js');
leadToCopy('better-sqlite3', 'lib/index.js');
writeFileSync(join(dist, 'build.json'), JSON.stringify({ commit: commit() }));
for (const bin of Object.values<string>(manifestOf(root).bin)) chmodSync(join(root, bin), 0o755);
keepDeclarations(Object.values<{ types?: string }>(manifestOf(root).exports).flatMap(({ types }) => types ?? []));

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

/** Makes our modules import the copy of a package. */
function leadToCopy(name: string, main: string): void {
  for (const path of globSync('{config,events,projections,server,storage}/**/*.js', { cwd: dist })) {
    const text = readFileSync(join(dist, path), 'utf8');
    const copy = relative(dirname(join(dist, path)), join(dist, 'vendor', name, main)).replaceAll('\\', '/');
    const led = text.replaceAll(`from '${name}'`, `from '${copy}'`);
    if (led !== text) writeFileSync(join(dist, path), led);
  }
}

/**
 * Of all declarations keeps those that an entry of the package leads to. TypeScript rewrites `.ts` to `.js` in the code
 * that it emits, and not in declarations.
 */
function keepDeclarations(entries: readonly string[]): void {
  const kept = new Set<string>();
  for (const entry of entries) keep(resolve(root, entry));

  function keep(file: string): void {
    if (kept.has(file)) return;
    kept.add(file);
    const text = readFileSync(file, 'utf8').replace(/(\bfrom |\bimport\()(['"])(\.[^'"]*)\.ts\2/g, '$1$2$3.js$2');
    writeFileSync(file, text);
    for (const [, path = ''] of text.matchAll(/['"](\.{1,2}\/[^'"]*)\.js['"]/g))
      keep(normalize(join(dirname(file), `${path}.d.ts`)));
  }

  for (const path of globSync('**/*.d.ts', { cwd: dist })) if (!kept.has(join(dist, path))) rmSync(join(dist, path));
}

type Manifest = {
  version: string;
  license: string;
  main?: string;
  bin: Record<string, string>;
  exports: Record<string, { types?: string }>;
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

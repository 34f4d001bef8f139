import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Metafile } from 'esbuild';
import { root } from '../bundle.ts';
import { packageName } from '../config/package-name.ts';
import { version } from '../server/platform/version.ts';
import { sqliteVersion } from '../storage/sqlite.ts';
import { nodeVersion } from './node.ts';

type Component = {
  type: 'application' | 'library' | 'platform';
  'bom-ref': string;
  name: string;
  version: string;
  purl?: string;
  description?: string;
  licenses?: { license: { name: string } }[];
  hashes?: { alg: 'SHA-512'; content: string }[];
  properties?: { name: string; value: string }[];
};

/**
 * A software bill of materials, https://cyclonedx.org/docs/1.6/json/. It has no time and no serial number, so that
 * equal sources give equal bytes.
 */
export type Sbom = {
  bomFormat: 'CycloneDX';
  specVersion: '1.6';
  version: 1;
  metadata: { component: Component };
  components: Component[];
};

type Made = {
  binary: string;
  /** The Node whose parts are listed. */
  builder: string;
  /** The folders of packages with files in the binary outside the bundle. */
  packages: readonly string[];
};

/**
 * The parts of the binary: the packages with modules in the bundle, native code, Node with its own parts; and the
 * libraries that the binary needs.
 */
export function sbomOf(metafile: Metafile, { binary, builder, packages }: Made): Sbom {
  return listOf([...packagesIn(metafile, packages), ...nativeParts(builder), ...librariesOf(binary)]);
}

/**
 * The packages inside the npm package, which npm does not know about.
 *
 * @param others the folders of packages with files outside the bundle.
 */
export function sbomOfPackage(metafile: Metafile, others: readonly string[]): Sbom {
  return listOf(packagesIn(metafile, others));
}

function listOf(components: Component[]): Sbom {
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: { type: 'application', 'bom-ref': packageName, name: packageName, version: version() } },
    components,
  };
}

function packagesIn({ outputs }: Metafile, others: readonly string[]): Component[] {
  // The outputs leave out modules that are not used.
  const modules = Object.values(outputs).flatMap(({ inputs }) => Object.keys(inputs));
  const folders = modules.flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []);
  return [...new Set([...folders, ...others])].sort().map(componentOf);
}

function componentOf(folder: string): Component {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const { name, version, license } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
  const locked = packages[folder];
  if (locked?.version !== version) throw new Error(`package-lock.json does not have ${folder} ${version}`);
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`;
  const content = Buffer.from(locked.integrity.replace('sha512-', ''), 'base64').toString('hex');
  return {
    type: 'library',
    'bom-ref': folder,
    name,
    version,
    purl,
    licenses: [{ license: { name: String(license) } }],
    hashes: [{ alg: 'SHA-512', content }],
    properties: [{ name: 'annals:path', value: folder }],
  };
}

function nativeParts(builder: string): Component[] {
  const parts = JSON.parse(execFileSync(builder, ['-p', 'JSON.stringify(process.versions)'], { encoding: 'utf8' }));
  const kept = Object.entries<string>(parts).filter(([name]) => !['node', 'modules', 'napi', 'sqlite'].includes(name));
  return [
    part({ type: 'platform', name: 'node', version: nodeVersion, purl: `pkg:github/nodejs/node@v${nodeVersion}` }),
    part({ type: 'library', name: 'sqlite', version: sqliteVersion(), description: 'in the addon of better-sqlite3' }),
    part({ type: 'library', name: 'sqlite', version: String(parts.sqlite), description: 'in Node, not used' }),
    ...kept.map(([name, version]) => part({ type: 'library', name, version, description: 'in Node' })),
  ];
}

/**
 * The libraries of the system, which are not in the binary. The minimum version is the version of the newest symbol in
 * use.
 */
function librariesOf(binary: string): Component[] {
  const text = readFileSync(binary).toString('latin1');
  const families = { glibc: 'GLIBC', 'libstdc++': 'GLIBCXX', libgcc: 'GCC', libatomic: 'LIBATOMIC' };
  return Object.entries(families).flatMap(([name, prefix]) => {
    const found = [...text.matchAll(new RegExp(`\\0${prefix}_(\\d+(?:\\.\\d+)+)(?=\\0)`, 'g'))].map(
      ([, one = '']) => one,
    );
    const [newest] = found.sort((one, other) => other.localeCompare(one, 'en', { numeric: true }));
    if (newest === undefined) return [];
    const description = `a library of the system, not in the file; needs the symbols of ${prefix}_${newest}`;
    return [part({ type: 'library', name, version: newest, description })];
  });
}

function part(component: Omit<Component, 'bom-ref'>): Component {
  return { 'bom-ref': `${component.name}@${component.version}`, ...component };
}

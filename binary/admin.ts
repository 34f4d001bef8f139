import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../bundle.ts';

/**
 * The admin application for the binary: its files below admin/dist, and the folders of the packages that it bundles.
 */
export type AdminParts = { files: string[]; packages: string[] };

/**
 * The file in which Vite lists the packages that it bundles, with their licences (`build.license` in
 * admin/vite.config.ts).
 */
const licencesFile = 'licences.json';

/** Builds the admin application, unless it is up to date. */
export function buildAdmin(): AdminParts {
  execFileSync(process.execPath, ['runtime/admin.js', 'ensure'], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
  const folder = join(root, 'admin/dist');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => statSync(join(folder, path)).isFile())
    .sort();
  const bundled: { name: string; version: string }[] = JSON.parse(readFileSync(join(folder, licencesFile), 'utf8'));
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  return { files, packages: bundled.map((one) => folderIn(packages, one)) };
}

/**
 * The folder of a package. npm may have installed several versions: another version is below the package that needs it.
 */
function folderIn(locked: Record<string, { version?: string }>, { name, version }: { name: string; version: string }) {
  const found = Object.keys(locked).find((path) => {
    return path.endsWith(`node_modules/${name}`) && locked[path]?.version === version;
  });
  if (found === undefined)
    throw new Error(`package-lock.json does not have ${name} ${version}, which is in the admin application`);
  return found;
}

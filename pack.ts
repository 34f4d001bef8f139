import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * npm packs the package.json of this folder, but the package has fewer dependencies than the checkout, because the
 * bundle in `dist/` contains them (build.ts). So npm runs `pack.ts begin` before it packs, which moves dependencies to
 * the devDependencies, and `pack.ts end` afterwards, which moves them back. In between, the script `prepare` has
 * another name: it is only for checkouts, and where scripts must be approved, npm would refuse to install a package
 * with such a script.
 */
const file = join(import.meta.dirname, 'package.json');
const [step] = process.argv.slice(2);
const laidAside = 'prepare-checkout';
/**
 * The packages that stay dependencies: the types of `annals/server` refer to the types of hapi, which refer to those of
 * joi.
 */
const typed = ['@hapi/hapi', 'joi'];

if (step === 'begin') change('dependencies', 'devDependencies', { prepare: laidAside });
else if (step === 'end') change('devDependencies', 'dependencies', { [laidAside]: 'prepare' });
else {
  // `npm publish` without a file would send the package.json of this folder to the registry, not the packed one.
  console.error('npm pack makes annals-VERSION.tgz, and npm publish annals-VERSION.tgz publishes it');
  process.exitCode = 1;
}

type Kind = 'dependencies' | 'devDependencies';

function change(from: Kind, to: Kind, renamed: Record<string, string>): void {
  const manifest = JSON.parse(readFileSync(file, 'utf8'));
  const { packages } = JSON.parse(readFileSync(join(import.meta.dirname, 'package-lock.json'), 'utf8'));
  for (const name of Object.keys(packages[''].dependencies)) {
    if (typed.includes(name) || !Object.hasOwn(manifest[from], name)) continue;
    manifest[to][name] = manifest[from][name];
    delete manifest[from][name];
  }
  manifest[to] = Object.fromEntries(Object.entries(manifest[to]).sort());
  const scripts = Object.entries<string>(manifest.scripts).map(([name, script]) => [renamed[name] ?? name, script]);
  manifest.scripts = Object.fromEntries(scripts);
  // The file is written atomically, because other processes may read it at this moment.
  writeFileSync(`${file}.new`, `${JSON.stringify(manifest, null, 2)}\n`);
  renameSync(`${file}.new`, file);
}

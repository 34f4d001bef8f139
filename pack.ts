import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * npm packs the package.json that lies here, but that of the package has other dependencies than the checkout: the
 * bundle in `dist/` has them inside (build.ts). So npm runs `pack.ts begin` before it packs, which moves them to the
 * devDependencies, and `pack.ts end` after it, which moves them back. Meanwhile the script `prepare` has another name:
 * it is for checkouts, and npm would refuse to install a package that has one where scripts must be approved.
 */
const file = join(import.meta.dirname, 'package.json');
const [step] = process.argv.slice(2);
const laidAside = 'prepare-checkout';
/** The types of `annals/server` are made of those of hapi, which have joi's in them. */
const typed = ['@hapi/hapi', 'joi'];

if (step === 'begin') change('dependencies', 'devDependencies', { prepare: laidAside });
else if (step === 'end') change('devDependencies', 'dependencies', { [laidAside]: 'prepare' });
else {
  // npm would tell the registry of the package.json that lies here once it has packed the other one.
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
  // As a whole, for others may read it at this moment.
  writeFileSync(`${file}.new`, `${JSON.stringify(manifest, null, 2)}\n`);
  renameSync(`${file}.new`, file);
}

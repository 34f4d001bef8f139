import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { root } from '../bundle.ts';
import { packageName } from '../config/package-name.ts';

/** The file from which `annals init` takes the types, which an editor needs if the package is not installed. */
export const typesFile = join(root, 'cli/annals-types.txt');

/**
 * The types of the module `annals` in one text: the compiler's declarations of config/index.ts and of all files that it
 * imports.
 */
export function declarations(): string {
  const folder = mkdtempSync(join(tmpdir(), 'annals-types-'));
  try {
    const manifest = createRequire(import.meta.url).resolve('typescript/package.json');
    const { bin } = JSON.parse(readFileSync(manifest, 'utf8'));
    const options = ['--project', 'tsconfig.build.json', '--emitDeclarationOnly', '--outDir', folder];
    execFileSync(process.execPath, [join(dirname(manifest), bin.tsc), ...options], { cwd: root });
    const modules = new Map<string, string>();
    add('index', modules, join(folder, 'config'));
    const texts = [...modules]
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, text]) => declared(name, text));
    return `// The types of a configuration of Annals, for editors: written by \`annals init\`.\n\n${texts.join('\n')}`;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const imported = /(\bfrom |\bimport\()'\.\/([\w-]+)\.[jt]s'/g;

function add(name: string, modules: Map<string, string>, folder: string): void {
  if (modules.has(name)) return;
  const text = readFileSync(join(folder, `${name}.d.ts`), 'utf8');
  modules.set(name, text);
  for (const [, , other = ''] of text.matchAll(imported)) add(other, modules, folder);
}

function declared(name: string, text: string): string {
  const inside = text
    .replace(imported, (_, before, other) => `${before}'${nameOf(other)}'`)
    .replace(/^(export )?declare /gm, '$1')
    .replace(/^(?=.)/gm, '  ');
  return `declare module '${nameOf(name)}' {\n${inside}}\n`;
}

function nameOf(file: string): string {
  return file === 'index' ? packageName : `${packageName}:${file}`;
}

// `npm run node -- binary/types.ts` writes the file. A test fails if the file is out of date.
if (import.meta.filename === process.argv[1]) writeFileSync(typesFile, declarations());

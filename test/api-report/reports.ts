import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, normalize } from 'node:path';

const root = join(import.meta.dirname, '../..');

/** A file of declarations: its statements by the names that they declare, and where other names come from. */
type Declarations = {
  own: Map<string, string>;
  /** The name that this file uses or exports, the file it comes from, and its name there. */
  imports: Map<string, Origin>;
  exports: Map<string, Origin>;
  /** The files of which all exports are exported again. */
  stars: string[];
};
type Origin = { file: string; name: string };

/** The files of the reports, each with its text as the sources are now: one for each entry of the package. */
export function apiReports(): Map<string, string> {
  const folder = mkdtempSync(join(tmpdir(), 'annals-api-'));
  try {
    const typescript = createRequire(import.meta.url).resolve('typescript/package.json');
    const options = [
      '--project',
      'tsconfig.build.json',
      '--emitDeclarationOnly',
      '--removeComments',
      '--outDir',
      folder,
    ];
    execFileSync(process.execPath, [join(dirname(typescript), 'bin/tsc'), ...options], { cwd: root });
    const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    const entries = Object.entries<{ types?: string }>(manifest.exports).flatMap(([path, { types }]) =>
      types === undefined ? [] : [[path.replace('.', 'annals').replace('/', '-'), types] as const],
    );
    const read = readerOf(folder);
    return new Map(entries.map(([name, types]) => [`${name}.txt`, reportOf(types.replace('./dist/', ''), read)]));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

type Read = (file: string) => Declarations;

/** The names that an entry exports, and the declaration of each, with those that it refers to. */
function reportOf(entry: string, read: Read): string {
  const exported = exportsOf(entry, read);
  const declared = new Map<string, string>();
  const open = [...exported.values()];
  for (const { file, name } of open) {
    const place = `${file} ${name}`;
    const { own, imports, exports } = read(file);
    const origin = own.has(name) ? null : (imports.get(name) ?? exports.get(name));
    if (origin) open.push(origin);
    const statement = own.get(name);
    if (statement === undefined || declared.has(place)) continue;
    declared.set(place, statement);
    for (const [, word = ''] of statement.matchAll(/(?<![.\w$'"])([A-Za-z_$][\w$]*)(?!\??:)/g))
      if (word !== name && (own.has(word) || imports.has(word))) open.push({ file, name: word });
  }
  // By name, and without the files: a declaration may move.
  const nameOf = (place: string) => place.split(' ')[1] ?? '';
  const texts = [...declared]
    .map(([place, statement]) => ({ name: nameOf(place), text: statement.replace(/^export (?:declare )?/gm, '') }))
    .sort((one, other) => compare(one.name, other.name) || compare(one.text, other.text))
    .map(({ text }) => text);
  return `exports: ${[...exported.keys()].sort().join(', ')}\n\n${texts.join('\n\n')}\n`;
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

/** The names that a file exports, and where each is declared or comes from. */
function exportsOf(file: string, read: Read): Map<string, Origin> {
  const { own, exports, stars } = read(file);
  const found = new Map(stars.flatMap((star) => [...exportsOf(star, read)]));
  for (const [name, statement] of own) if (statement.startsWith('export ')) found.set(name, { file, name });
  for (const [name, origin] of exports) found.set(name, origin);
  return found;
}

function readerOf(folder: string): Read {
  const known = new Map<string, Declarations>();
  return (file) => {
    const declarations = known.get(file) ?? declarationsIn(readFileSync(join(folder, file), 'utf8'), file);
    known.set(file, declarations);
    return declarations;
  };
}

/** A statement begins at the beginning of a line, with one of these words. */
const beginning = /^(?=(?:import|export|declare|type|interface|class|function|const)\b)/m;
const declaration =
  /^(?:export )?(?:declare )?(?:abstract )?(?:type|interface|class|function|const|let) ([A-Za-z_$][\w$]*)/;

function declarationsIn(text: string, file: string): Declarations {
  const found: Declarations = { own: new Map(), imports: new Map(), exports: new Map(), stars: [] };
  for (const statement of text.split(beginning).map((one) => one.trim())) {
    const from = /from '(\.[^']*)\.ts';$/.exec(statement)?.[1];
    const source = from === undefined ? file : normalize(join(dirname(file), `${from}.d.ts`)).replaceAll('\\', '/');
    const list = /^(import|export)(?: type)? \{([\s\S]*?)\}/.exec(statement);
    const name = declaration.exec(statement)?.[1];
    if (list !== null) {
      const names = list[1] === 'import' ? found.imports : found.exports;
      for (const [own, theirs] of namesIn(list[2] ?? ''))
        if (from !== undefined || list[1] === 'export') names.set(own, { file: source, name: theirs });
    } else if (/^export (?:type )?\*/.test(statement)) found.stars.push(source);
    else if (name !== undefined) found.own.set(name, [found.own.get(name), statement].filter(Boolean).join('\n'));
  }
  return found;
}

/** The names of `{ a, type b as c }`: the one here, and the one at its origin. */
function namesIn(list: string): [string, string][] {
  const names = list.split(',').map((one) => one.trim().replace(/^type /, ''));
  return names
    .filter((one) => one !== '')
    .map((one) => {
      const [theirs = '', own = theirs] = one.split(' as ');
      return [own, theirs];
    });
}

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, extname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { show } from '../../config/suggest.ts';
import { isBinary } from '../platform/carried.ts';

/** The folder of our own modules; the author's mistake is elsewhere. */
const ours = fileURLToPath(new URL('../', import.meta.url));
const extensions = ['.ts', '.mts', '.js', '.mjs', '.cts', '.cjs', '.json'];

/**
 * The reason why a module cannot be loaded, in one line: the problem, its place in the author's files, and the
 * correction.
 *
 * @param file the module to load; the mistake may be in a module that it imports.
 */
export function loadProblem(file: string, error: unknown): string {
  if (!(error instanceof Error)) return `it throws ${show(error)}, and no error`;
  const message = error.message.split('\n')[0]?.replace(/ in strip-only mode$/, '') ?? '';
  const place = placeOf(file, error);
  return `${message}${place ? `, at ${place}` : ''}${hintFor(error)}`;
}

/** As `file:line:column`, from 1; null if unknown. A mistake at the end of a file has no column. */
function placeOf(file: string, error: Error): string | null {
  const stack = error.stack ?? '';
  if (error instanceof SyntaxError) return markedPlace(stack) ?? checkedPlace(file);
  return missingImport(error)?.place ?? thrownPlace(stack);
}

/** Node prints the line before the stack, with marks below the mistake; there are none at the end of a file. */
function markedPlace(text: string): string | null {
  const [head = '', ...below] = text.split('\n');
  const [, path = '', line] = /^(.+):(\d+)$/.exec(head) ?? [];
  if (!line || !existsSync(pathOf(path))) return null;
  const marks = below.find((one) => /^ *\^+$/.test(one));
  return `${pathOf(path)}:${line}${marks === undefined ? '' : `:${marks.indexOf('^') + 1}`}`;
}

const checkMilliseconds = 5000;

/**
 * Node tells the position of a syntax error in JavaScript only if it checks that file alone; null without a Node to
 * run.
 */
function checkedPlace(file: string): string | null {
  // In the binary, execPath is not Node.
  if (process.versions.electron !== undefined || isBinary()) return null;
  const { NODE_OPTIONS: _ours, ...env } = process.env;
  const check = { encoding: 'utf8', timeout: checkMilliseconds, env } as const;
  return markedPlace(spawnSync(process.execPath, ['--check', file], check).stderr ?? '');
}

/**
 * The innermost call of a stack in a file of the author's, as `file:line:column`; null without one. Errors of packages
 * and of Node come from a call there.
 */
export function thrownPlace(stack: string): string | null {
  for (const [, url = '', at] of stack.matchAll(/(?:\(|at (?:async )?)((?:file:|\/|[A-Z]:\\).+?):(\d+:\d+)\)?$/gm)) {
    const path = pathOf(url);
    if (!path.startsWith(ours) && !path.includes(`${sep}node_modules${sep}`)) return `${path}:${at}`;
  }
  return null;
}

function pathOf(url: string): string {
  return url.startsWith('file:') ? fileURLToPath(url) : url;
}

/** TypeScript beyond types, which Node does not compile: the words of Node's message, and the way to write it. */
const uncompiled: readonly [construct: string, instead: string][] = [
  ['enum', "write an object, const Status = { draft: 'draft' } as const"],
  ['namespace', 'write a module, and import it'],
  ['parameter property', 'declare the property in the class, and set it in the constructor'],
  ['import equals', 'write an import as ES modules have it'],
  ['export assignment', 'write export default'],
];

function hintFor(error: Error): string {
  const missing = missingImport(error);
  if (missing?.meant) return `; write '${missing.meant}'`;
  const isScript = /^Cannot use import statement outside a module|^Unexpected token 'export'/.test(error.message);
  const instead = uncompiled.find(([construct]) => error.message.startsWith(`TypeScript ${construct} `))?.[1];
  if (instead) return `; types are only removed here, and it is more than a type: ${instead}`;
  return isScript ? '; call it .mts or .mjs, or put "type": "module" into package.json' : '';
}

/** An import of a missing file: its place, and the existing file that was probably meant. */
function missingImport(error: Error): { place: string | null; meant: string | null } | null {
  const pattern = /^(?:Cannot find module|Directory import) '(.+?)' .*imported from (.+)$/;
  const [, wanted = '', importer = ''] = pattern.exec(error.message) ?? [];
  if (!wanted || !existsSync(importer)) return null;
  const bare = extensions.includes(extname(wanted)) ? wanted.slice(0, -extname(wanted).length) : wanted;
  const found = [bare, join(wanted, 'index')]
    .flatMap((path) => extensions.map((extension) => path + extension))
    .find((path) => existsSync(path));
  return {
    place: importIn(importer, specifierOf(importer, wanted)),
    meant: found === undefined ? null : specifierOf(importer, found),
  };
}

/** A path as an import names it: `./sib.ts`. */
function specifierOf(importer: string, path: string): string {
  const specifier = relative(dirname(importer), path).replaceAll(sep, '/');
  return specifier.startsWith('.') ? specifier : `./${specifier}`;
}

function importIn(importer: string, specifier: string): string | null {
  const lines = readFileSync(importer, 'utf8').split('\n');
  for (const [index, line] of lines.entries()) {
    const at = Math.max(line.indexOf(`'${specifier}`), line.indexOf(`"${specifier}`));
    if (at >= 0) return `${importer}:${index + 1}:${at + 1}`;
  }
  return null;
}

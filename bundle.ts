import { hash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire, isBuiltin } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Metafile, type Plugin, transform } from 'esbuild';
import type { Form } from './server/platform/form.ts';
import { threadModules } from './server/platform/threads.ts';

export const root = fileURLToPath(new URL('.', import.meta.url));

/** The modules of the service with all packages, by the names of their files, and what esbuild tells of them. */
export type Bundle = { files: ReadonlyMap<string, string>; metafile: Metafile };

/** Where there is a bundle. */
type Bundled = Exclude<Form, 'sources'>;

/** What a bundle holds beside the command and the threads: the modules that others import. */
const entries: Record<Bundled, Record<string, string>> = {
  checkout: {},
  // `annals` and `annals/client` are compiled one by one: they run in browsers too, and share nothing with the service.
  package: { 'annals-server': 'server/index.ts' },
  binary: { annals: 'config/index.ts', 'annals-server': 'server/index.ts', 'annals-client': 'client/index.ts' },
};

/** Where a bundle of files finds packages with native code, from its own folder. */
const packages = { checkout: '../../node_modules', package: '../vendor' };

/**
 * For a module that finds others while it runs: createRequire has an address, and CommonJS the names that it expects.
 */
const finding = `import { createRequire as annalsRequire } from 'node:module';
import { fileURLToPath as annalsPath } from 'node:url';
const require = annalsRequire(import.meta.url), __filename = annalsPath(import.meta.url);
const __dirname = annalsPath(new URL('.', import.meta.url));
`;

/** Bundles the command, each thread, and what others may import. The same sources make the same bytes. */
export async function bundle(form: Bundled): Promise<Bundle> {
  const threads = Object.entries(threadModules).map(([name, path]) => [`${name}-thread`, `${path}.ts`]);
  const late = new Set<string>();
  const options = {
    absWorkingDir: root,
    outdir: '/app',
    bundle: true,
    platform: 'node',
    target: form === 'binary' ? 'node26' : 'node22.18',
    minifySyntax: true,
    legalComments: 'none',
    define: { annalsForm: JSON.stringify(form) },
    // That Node is new enough is known of the one in the executable.
    logOverride: { 'ignored-bare-import': 'silent' },
    logLevel: 'warning',
    metafile: true,
    write: false,
  } as const;
  const modules = await build({
    ...options,
    entryPoints: { main: 'cli/main.js', ...Object.fromEntries(threads), ...entries[form] },
    // Node looks for no package.json that tells what these are.
    outExtension: { '.js': '.mjs' },
    splitting: true,
    format: 'esm',
    plugins: [ours, large, apart(late), standIns(form)],
  });
  const { resolve } = createRequire(import.meta.url);
  const required = await build({
    ...options,
    entryPoints: Object.fromEntries([...late].sort().map((name) => [fileOf(name), resolve(name)])),
    outExtension: { '.js': '.cjs' },
    format: 'cjs',
    plugins: [large, apart(late), standIns(form)],
  });
  const metafile: Metafile = {
    inputs: { ...modules.metafile.inputs, ...required.metafile.inputs },
    outputs: { ...modules.metafile.outputs, ...required.metafile.outputs },
  };
  const outside = Object.values(metafile.outputs).flatMap(({ imports }) =>
    imports.flatMap(({ path, external }) => (external && !isBuiltin(path) && !path.startsWith('.') ? [path] : [])),
  );
  if (outside.length > 0) throw new Error(`not in the bundle: ${[...new Set(outside)].join(', ')}`);
  const files = await Promise.all(
    [...modules.outputFiles, ...required.outputFiles].map(async ({ path, text }): Promise<[string, string]> => {
      return [path.replace(/^.*[\\/]/, ''), await finished(text, path.endsWith('.mjs') ? 'esm' : 'cjs')];
    }),
  );
  return { files: new Map(files.sort(([one], [other]) => (one < other ? -1 : 1))), metafile };
}

/**
 * A package that our modules `require` is for few that need it, and has a file of its own: else it would be in the text
 * of each thread. So has joi, which is loaded late by some and at once by others.
 *
 * @param late gets the names of such packages.
 */
function apart(late: Set<string>): Plugin {
  return {
    name: 'apart',
    setup({ onResolve }) {
      onResolve({ filter: /^[@a-z]/ }, ({ path, kind, importer }) => {
        if (kind === 'entry-point' || isBuiltin(path)) return null;
        const isLate = kind === 'require-call' && importer.endsWith('.ts');
        if (!isLate && path !== 'joi') return null;
        late.add(path);
        return { path: `./${fileOf(path)}.cjs`, external: true };
      });
    },
  };
}

/** The file of a package, without its ending. */
function fileOf(name: string): string {
  return name.replace(/^@/, '').replaceAll('/', '-');
}

/**
 * A module of CommonJS is a function that runs when it is required, as nearly all do at a start: in parentheses V8
 * compiles it with its file, and so keeps it in the code cache.
 */
async function finished(text: string, format: 'esm' | 'cjs'): Promise<string> {
  const [, first = '', body = ''] = /^(#!.*\n)?(.*)$/s.exec(text) ?? [];
  const eager = body.replace(
    /^(var \w+ = __commonJS\(\{\n {2}".*?")(\(.*?\)) \{\n(.*?)^ {2}\}\n\}\);$/gms,
    (_, before, parameters, inside) => `${before}: (function${parameters} {\n${inside}  })\n});`,
  );
  const isFinding = format === 'esm' && /(?<![\w$.])(?:require|__filename|__dirname)\b(?!:)/.test(body);
  // Without white space it is a fifth less memory for the texts of modules. Names and lines stay, for stacks in the
  // log.
  const { code } = await transform(eager, {
    minifyWhitespace: true,
    lineLimit: 100,
    format,
    legalComments: 'none',
  });
  return first + (isFinding ? finding : '') + code;
}

/** With a `require` of its own a module would hide from esbuild what it requires. */
const ours: Plugin = {
  name: 'ours',
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, ({ path }) => {
      if (path.includes('node_modules')) return null;
      const text = readFileSync(path, 'utf8');
      const contents = text.replace(/^const require = createRequire\(import\.meta\.url\);$/m, '');
      if (contents.includes('createRequire(')) throw new Error(`${path}: name what createRequire makes "require"`);
      return { contents, loader: 'ts' };
    });
  },
};

/** Large JSON is read faster from a text than as a part of a program, and takes less memory. */
const large: Plugin = {
  name: 'large',
  setup({ onLoad }) {
    onLoad({ filter: /\.json$/ }, ({ path }) => {
      const text = JSON.stringify(JSON.parse(readFileSync(path, 'utf8')));
      if (text.length < 10_000) return null;
      return { contents: `module.exports = JSON.parse(${JSON.stringify(text)});`, loader: 'js' };
    });
  },
};

/**
 * Modules in whose place a bundle has others: those that look for files beside themselves, and those that are not
 * needed.
 */
function standIns(form: Bundled): Plugin {
  return {
    name: 'stand-ins',
    setup({ onResolve, onLoad }) {
      const here = (name: string) => ({ path: join(root, 'binary', name) });
      onResolve({ filter: /^better-sqlite3$/ }, () => here('better-sqlite3.cjs'));
      onResolve({ filter: /^better-sqlite3\/lib\// }, ({ path }) => ({
        path: join(root, 'node_modules', `${path}.js`),
      }));
      onResolve({ filter: /^\.\/generator\.ts$/ }, () => here('generator.ts'));
      onResolve(
        {
          filter:
            /^(@apidevtools\/json-schema-ref-parser|http-status|swagger-parser|swagger-ui-dist|handlebars|pg-native)$/,
        },
        () => ({ path: join(root, 'server/openapi/stand-in.cjs') }),
      );
      // Node warns of url.parse where it is not called below node_modules.
      onLoad({ filter: /@hapi[\\/]shot[\\/]lib[\\/]request\.js$/ }, ({ path }) => ({
        contents: replaced(path, 'const uri = Url.parse(url);', 'const uri = new Url.Url();\nuri.parse(url);'),
      }));
      if (form === 'binary') {
        onResolve({ filter: /^node-gyp-build$/ }, () => here('node-gyp-build.cjs'));
        onResolve({ filter: /^fs$/ }, ({ importer }) =>
          importer.includes('/@hapi/inert/') ? here('assets-fs.cjs') : null,
        );
        return;
      }
      const folder = packages[form];
      onResolve({ filter: /^\.\/addon\.cjs$/ }, () => ({ path: 'addon', namespace: 'annals' }));
      onLoad({ filter: /^addon$/, namespace: 'annals' }, () => ({
        contents: `exports.loadAddon = () => require(${JSON.stringify(`${folder}/better-sqlite3/lib/binding.js`)}).getBinding(null)`,
      }));
      onResolve({ filter: /^\.\.\/.*\/better-sqlite3\/lib\/binding\.js$/ }, ({ path }) => ({ path, external: true }));
      // It looks for its addon in its own folder.
      onLoad({ filter: /[\\/]bcrypt[\\/]bcrypt\.js$/ }, ({ path }) => ({
        contents: replaced(path, 'path.resolve(__dirname)', `path.resolve(__dirname, '${folder}/bcrypt')`),
      }));
    },
  };
}

function replaced(path: string, from: string, to: string): string {
  const text = readFileSync(path, 'utf8');
  if (!text.includes(from)) throw new Error(`${path} has no ${from}`);
  return text.replace(from, to);
}

/** Names the code of a bundle. */
export function buildOf({ files }: Bundle): string {
  return hash('sha256', JSON.stringify([...files]));
}

/**
 * What `runtime/bundle.js` reads: each file that the bundle is made of, with its size and time, and the names of what
 * was written.
 */
type Manifest = { made: [path: string, size: number, time: number][]; written: string[] };

/** Beside its sources, what decides how a bundle is made. */
const ways = ['bundle.ts', 'package-lock.json'];

/**
 * Writes the bundle of the checkout, which is run as long as each file that it is made of stays as it is.
 *
 * @throws if a file is changed meanwhile.
 */
async function writeBundle(folder: string): Promise<void> {
  const begun = Date.now();
  const made = await bundle('checkout');
  const inputs = Object.keys(made.metafile.inputs).filter((path) => !path.startsWith('annals:'));
  const stats = [...ways, ...inputs].map((path): Manifest['made'][number] => {
    const { size, mtimeMs } = statSync(join(root, path));
    if (mtimeMs >= begun) throw new Error(`${path} was changed while the bundle was made`);
    return [path, size, mtimeMs];
  });
  mkdirSync(folder, { recursive: true });
  const before = manifestIn(folder)?.written ?? [];
  const written = [...made.files.keys()];
  for (const [name, text] of made.files) put(join(folder, name), text);
  put(join(folder, 'build.json'), JSON.stringify({ build: buildOf(made) }));
  const manifest: Manifest = { made: stats, written };
  put(join(folder, 'manifest.json'), JSON.stringify(manifest));
  // A service that runs may yet load a module of the bundle before.
  const kept = new Set([...before, ...written, 'build.json', 'manifest.json']);
  for (const name of readdirSync(folder)) if (!kept.has(name)) rmSync(join(folder, name));
  forgetCompiled(join(root, 'node_modules/.cache/annals'));
}

const dayMilliseconds = 24 * 60 * 60 * 1000;

/**
 * Removes compiled code that is older than a day: modules of a bundle have other names when they change, and nothing
 * else removes them.
 */
function forgetCompiled(folder: string): void {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const stats = statSync(join(folder, name), { throwIfNoEntry: false });
    if (stats?.isFile() && Date.now() - stats.mtimeMs > dayMilliseconds) rmSync(join(folder, name), { force: true });
  }
}

function manifestIn(folder: string): Manifest | null {
  try {
    return JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8'));
  } catch {
    return null;
  }
}

/** As a whole, for others may read it at this moment, or write it. */
function put(file: string, text: string): void {
  const unfinished = `${file}.${process.pid}`;
  writeFileSync(unfinished, text);
  renameSync(unfinished, file);
}

// That of the checkout: `npm run bundle`.
if (import.meta.filename === process.argv[1]) await writeBundle(join(root, 'build/bundle'));

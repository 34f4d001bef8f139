import { hash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire, isBuiltin } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Metafile, type Plugin, transform } from 'esbuild';
import type { ModuleForm } from './server/platform/form.ts';
import { threadModules } from './server/platform/threads.ts';

export const root = fileURLToPath(new URL('.', import.meta.url));

/** The modules of the service with all packages, by file name, and the metafile of esbuild. */
export type Bundle = { files: ReadonlyMap<string, string>; metafile: Metafile };

/** The forms in which the service is a bundle. */
type Bundled = Exclude<ModuleForm, 'sources'>;

/** The entries of a bundle beside the command and the threads: modules that applications import. */
const entries: Record<Bundled, Record<string, string>> = {
  checkout: {},
  // `annals` and `annals/client` are compiled one by one: they run in browsers too, and share nothing with the service.
  package: { 'annals-server': 'server/index.ts' },
  binary: { annals: 'config/index.ts', 'annals-server': 'server/index.ts', 'annals-client': 'client/index.ts' },
};

/** The folder of packages with native code, relative to the folder of the bundle. */
const packages = { checkout: '../../node_modules', package: '../vendor' };

/** The head of a module that loads others at run time: it defines the names that CommonJS code expects. */
const finding = `import { createRequire as annalsRequire } from 'node:module';
import { fileURLToPath as annalsPath } from 'node:url';
const require = annalsRequire(import.meta.url), __filename = annalsPath(import.meta.url);
const __dirname = annalsPath(new URL('.', import.meta.url));
`;

/** Bundles the command, each thread, and the modules that applications import. Equal sources give equal bytes. */
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
    // The imports that check the version of Node are dropped, because the Node in the executable is new enough.
    logOverride: { 'ignored-bare-import': 'silent' },
    logLevel: 'warning',
    metafile: true,
    write: false,
  } as const;
  const modules = await build({
    ...options,
    entryPoints: { main: 'cli/main.js', ...Object.fromEntries(threads), ...entries[form] },
    // With this ending, Node does not look for a package.json to learn the module type.
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
 * Gives a package that our modules `require` a file of its own, because few processes need it, and it would otherwise
 * be in the text of each thread. joi also gets a file, because some modules load it late and others at once.
 *
 * @param late receives the names of these packages.
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
 * Finishes the text of a file. A CommonJS module is a function that runs when it is required, as nearly all are at a
 * start. In parentheses, V8 compiles the function together with its file, and so keeps it in the code cache.
 */
async function finished(text: string, format: 'esm' | 'cjs'): Promise<string> {
  const [, first = '', body = ''] = /^(#!.*\n)?(.*)$/s.exec(text) ?? [];
  const eager = body.replace(
    /^(var \w+ = __commonJS\(\{\n {2}".*?")(\(.*?\)) \{\n(.*?)^ {2}\}\n\}\);$/gms,
    (_, before, parameters, inside) => `${before}: (function${parameters} {\n${inside}  })\n});`,
  );
  const isFinding = format === 'esm' && /(?<![\w$.])(?:require|__filename|__dirname)\b(?!:)/.test(body);
  // Without white space, the texts of modules take a fifth less memory. Names and lines stay, for stacks in the log.
  const { code } = await transform(eager, {
    minifyWhitespace: true,
    lineLimit: 100,
    format,
    legalComments: 'none',
  });
  return first + (isFinding ? finding : '') + code;
}

/** Removes a module's own `require`, which would hide the required modules from esbuild. */
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

/** Large JSON is faster to parse from a text than as part of a program, and takes less memory. */
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

/** Replaces modules that look for files beside themselves, and modules that are not needed. */
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
      // Node warns of url.parse unless the caller is below node_modules.
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
      // bcrypt looks for its addon in its own folder.
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

/** The name of a bundle's code: its hash. */
export function buildOf({ files }: Bundle): string {
  return hash('sha256', JSON.stringify([...files]));
}

/**
 * The file that `runtime/bundle.js` reads: each source of the bundle with its size and time, and the names of the
 * written files.
 */
type Manifest = { made: [path: string, size: number, time: number][]; written: string[] };

/** The files that determine a bundle, beside its sources. */
const ways = ['bundle.ts', 'package-lock.json'];

/**
 * Writes the bundle of the checkout. It is used as long as none of its sources changes.
 *
 * @throws if a source is changed in the meantime.
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
  // A running service may still load a module of the previous bundle.
  const kept = new Set([...before, ...written, 'build.json', 'manifest.json']);
  for (const name of readdirSync(folder)) if (!kept.has(name)) rmSync(join(folder, name));
  forgetCompiled(join(root, 'node_modules/.cache/annals'));
}

const dayMilliseconds = 24 * 60 * 60 * 1000;

/**
 * Removes compiled code that is older than a day. Changed modules of a bundle get new names, and nothing else removes
 * the old code.
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

/** Writes a file atomically, because other processes may read or write it at this moment. */
function put(file: string, text: string): void {
  const unfinished = `${file}.${process.pid}`;
  writeFileSync(unfinished, text);
  renameSync(unfinished, file);
}

// `npm run bundle` makes the bundle of the checkout.
if (import.meta.filename === process.argv[1]) await writeBundle(join(root, 'build/bundle'));

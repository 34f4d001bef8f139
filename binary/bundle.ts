import { readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Metafile, type Plugin } from 'esbuild';
import { threadModules } from '../server/platform/threads.ts';

export const root = fileURLToPath(new URL('..', import.meta.url));

/** The modules of the service with all packages, by their names in the executable, and what esbuild tells of them. */
export type Bundle = { files: ReadonlyMap<string, string>; metafile: Metafile };

/** The address that bootstrap.cjs gives each module, so that createRequire has one, and the name that a CommonJS module expects. */
const banner = `import { createRequire as annalsRequire } from 'node:module';
const require = annalsRequire(import.meta.url), __filename = '/[annals]/app/module.cjs', __dirname = '/[annals]/app';`;

/** Bundles the command, each thread, and what a configuration may import of `annals`. The same sources make the same bytes. */
export async function bundle(): Promise<Bundle> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: {
      main: 'server/main.js',
      ...Object.fromEntries(Object.entries(threadModules).map(([name, path]) => [`${name}-thread`, `${path}.ts`])),
      annals: 'config/index.ts',
      'annals-server': 'server/index.ts',
      'annals-client': 'client/index.ts',
    },
    outdir: '/app',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node26',
    // The names of functions stay, for stacks in the log.
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: 'none',
    banner: { js: banner },
    plugins: [ours, replacements],
    // That Node is new enough is known of the one in the executable.
    logOverride: { 'ignored-bare-import': 'silent' },
    logLevel: 'warning',
    metafile: true,
    write: false,
  });
  const outside = Object.values(metafile.outputs).flatMap(({ imports }) =>
    imports.flatMap(({ path, external }) => (external && !isBuiltin(path) ? [path] : [])),
  );
  if (outside.length > 0) throw new Error(`not in the bundle: ${[...new Set(outside)].join(', ')}`);
  const files = outputFiles.map(({ path, text }): [string, string] => [path.replace(/^.*[\\/]/, ''), text]);
  return { files: new Map(files.sort(([one], [other]) => (one < other ? -1 : 1))), metafile };
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

/** Modules in whose place the binary has others: those that look for files beside themselves, and those that are not needed. */
const replacements: Plugin = {
  name: 'replacements',
  setup({ onResolve }) {
    const here = (name: string) => ({ path: join(root, 'binary', name) });
    onResolve({ filter: /^better-sqlite3$/ }, () => here('better-sqlite3.cjs'));
    onResolve({ filter: /^better-sqlite3\/lib\// }, ({ path }) => ({ path: join(root, 'node_modules', `${path}.js`) }));
    onResolve({ filter: /^node-gyp-build$/ }, () => here('node-gyp-build.cjs'));
    onResolve({ filter: /^fs$/ }, ({ importer }) =>
      importer.includes('/@hapi/inert/') ? here('assets-fs.cjs') : null,
    );
    onResolve({ filter: /^\.\/generator\.ts$/ }, () => here('generator.ts'));
    onResolve(
      {
        filter:
          /^(@apidevtools\/json-schema-ref-parser|http-status|swagger-parser|swagger-ui-dist|handlebars|pg-native)$/,
      },
      () => ({
        path: join(root, 'server/openapi/stand-in.cjs'),
      }),
    );
  },
};

import assert from 'node:assert/strict';
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { builtinModules, stripTypeScriptTypes } from 'node:module';
import { dirname, join, normalize } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ownAssets } from '../server/platform/carried.ts';
import { threadModules } from '../server/platform/threads.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

type Rule = {
  /** Our own folders, beside the folder itself. */
  folders: readonly string[];
  /** Packages, beside Node's own modules. */
  packages: readonly string[];
};

/** The folders that the files of a folder may import: the one direction of the house style, section 1.1. */
const rules: Record<string, Rule> = {
  config: { folders: [], packages: ['joi', 'fastest-levenshtein', '@eslint-community/regexpp'] },
  storage: { folders: [], packages: ['better-sqlite3', 'minio', 'pg'] },
  events: { folders: ['config', 'storage'], packages: [] },
  projections: { folders: ['config', 'storage', 'events'], packages: [] },
  server: {
    folders: ['config', 'storage', 'events', 'projections'],
    packages: [
      '@hapi/ammo',
      '@hapi/boom',
      '@hapi/bourne',
      '@hapi/hapi',
      '@hapi/inert',
      '@hapi/jwt',
      'age-encryption',
      'asn1js',
      'bcrypt',
      'content-disposition',
      'csv-parse',
      'file-type',
      'filenamify',
      'hapi-swagger',
      'image-size',
      'joi',
      'nodemailer',
      'pino',
      'postal-mime',
      'prom-client',
      'rate-limiter-flexible',
      'smtp-server',
      'tar-stream',
      'yazl',
    ],
  },
  cli: {
    folders: ['config', 'storage', 'events', 'projections', 'server'],
    packages: ['age-encryption', 'csv-parse', 'pino', 'tar-stream'],
  },
  // The client runs in browsers: of the configuration it takes only the types.
  client: { folders: ['config'], packages: [] },
  // The admin application runs in browsers, has a build of its own, and talks to the service only through the client.
  admin: {
    folders: ['client'],
    packages: [
      '@atlaskit/pragmatic-drag-and-drop',
      '@mantine/core',
      '@mantine/hooks',
      '@mantine/notifications',
      '@tanstack/react-query',
      '@tiptap/core',
      '@tiptap/pm',
      '@tiptap/react',
      '@tiptap/starter-kit',
      '@vitejs/plugin-react',
      'diff',
      'react',
      'react-dom',
      'vite',
      'wouter',
    ],
  },
  // A reader who trusts no one reads this file alone: it shares nothing with the service.
  verify: { folders: [], packages: [] },
  examples: { folders: ['config', 'client', 'server'], packages: ['world-countries'] },
};

/**
 * The rooms of a folder, from the ground up: a file imports its own room, and the rooms that stand before it here. No
 * file imports `cli/main.js` and `server/index.ts`: the shell and npm start them.
 */
const floors: Record<string, readonly string[]> = {
  events: ['facts', 'proof', 'store', 'segments', 'log', 'service-events', 'verify', 'replica', 'vault', 'postgres'],
  projections: ['tables', 'query', 'past', 'start', 'verify'],
  server: [
    'platform',
    'settings',
    'writer',
    'queries',
    'reads',
    'ports.ts',
    'app.ts',
    'http',
    'callers',
    'access',
    'openapi',
    'files',
    'documents',
    'accounts',
    'admin',
    'audit',
    'webhooks',
    'running',
    'index.ts',
  ],
};

/** The rooms of `admin/src/`, from the ground up. */
const adminFloors: readonly string[] = [
  'schema',
  'service',
  'words',
  'theme',
  'parts',
  'shell',
  'pages',
  'frame',
  'app.tsx',
  'main.tsx',
];

/**
 * The areas of `admin/src/pages/` from which an area may import parts, beside itself: forms choose files, files show
 * their references.
 */
const neighbours: Record<string, readonly string[]> = { document: ['media'], media: ['references'] };

/** Every module that a source text imports, statically, dynamically, for its types or by re-export. */
function importsOf(text: string): string[] {
  const code = text.replace(/^\s*\/\/.*$/gm, '').replace(/\/\*.*?\*\//gs, '');
  const statements =
    /(?:^|[\s;])(?:import|export)\s+(?:[^'"`;]*?\sfrom\s*)?['"]([^'"]+)['"]|\b(?:import|require)\(\s*['"]([^'"]+)['"]/g;
  return [...code.matchAll(statements)].map(([, statement, call]) => statement ?? call ?? '');
}

/** The fault of an import of a file, or null. */
function problemOf(file: string, specifier: string): string | null {
  const [folder = ''] = file.split('/');
  const { folders, packages } = rules[folder] as Rule;
  if (specifier.startsWith('node:')) return null;
  if (builtinModules.includes(specifier)) return `${file} imports ${specifier} without node:`;
  if (specifier.startsWith('.')) {
    const [target = ''] = normalize(join(dirname(file), specifier)).split('/');
    if (target !== folder && !folders.includes(target)) return `${file} may not import ${specifier}`;
    if (/\.(?:tsx?|json)$/.test(specifier)) return null;
    // These files must run on an older Node too.
    return existsSync(join(root, dirname(file), specifier)) ? null : `${file} imports ${specifier} without .ts`;
  }
  const name = specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
  return packages.includes(name) ? null : `${file} may not import the package ${name}`;
}

/** The fault of an import between the rooms of a folder, or null. */
function climbOf(file: string, specifier: string): string | null {
  const [folder = ''] = file.split('/');
  const rooms = floors[folder] as readonly string[];
  const floorOf = (path: string) => rooms.findIndex((name) => `${path}/`.startsWith(`${folder}/${name}/`));
  const target = normalize(join(dirname(file), specifier)).replaceAll('\\', '/');
  if (!specifier.startsWith('.') || !target.startsWith(`${folder}/`)) return null;
  const [from, to] = [floorOf(file), floorOf(target)];
  if (from === -1 || to === -1) return `${from === -1 ? file : target} stands on no floor of ${folder}/`;
  return to > from ? `${file} may not import ${specifier}: ${rooms[from]} stands below ${rooms[to]}` : null;
}

/** The fault of an import inside `admin/src/`, or null. */
function adminFault(file: string, specifier: string): string | null {
  const partsOf = (path: string) => path.replaceAll('\\', '/').split('/').slice(2);
  const path = normalize(join(dirname(file), specifier)).replaceAll('\\', '/');
  if (!specifier.startsWith('.') || !path.startsWith('admin/src/')) return null;
  const [[room = '', area = ''], [targetRoom = '', targetArea = '']] = [partsOf(file), partsOf(path)];
  const [from, to] = [adminFloors.indexOf(room), adminFloors.indexOf(targetRoom)];
  if (from === -1 || to === -1) return `${file} or ${path} stands on no floor of admin/src/`;
  if (to > from) return `${file} may not import ${specifier}: ${room} is below ${targetRoom}`;
  const isStrange = room === 'pages' && targetRoom === 'pages' && area !== targetArea;
  return isStrange && !neighbours[area]?.includes(targetArea) ? `${file} may not import ${specifier}` : null;
}

/** Files that import each other in a loop, types counted, as groups of two and more. */
function circlesIn(imports: ReadonlyMap<string, readonly string[]>): string[][] {
  const reached = new Map([...imports.keys()].map((file) => [file, reachedFrom(file)]));
  const inLoop = [...imports.keys()].filter((file) => reached.get(file)?.has(file));
  const groups = Map.groupBy(inLoop, (file) => inLoop.find((other) => isTied(file, other)));
  return [...groups.values()];

  function reachedFrom(start: string): Set<string> {
    const found = new Set<string>();
    const open = [start];
    for (let file = open.pop(); file !== undefined; file = open.pop()) {
      for (const next of imports.get(file) ?? []) {
        if (found.has(next)) continue;
        found.add(next);
        open.push(next);
      }
    }
    return found;
  }

  function isTied(one: string, other: string): boolean {
    return Boolean(reached.get(one)?.has(other) && reached.get(other)?.has(one));
  }
}

/** The files of some folders, as paths from the root. */
function filesOf(pattern: string): string[] {
  return globSync(pattern, { cwd: root }).map((file) => file.replaceAll('\\', '/'));
}

describe('The import direction (style 1.1)', () => {
  for (const folder of Object.keys(rules)) {
    it(`holds in ${folder}/`, () => {
      const files = filesOf(`${folder}/**/*.{ts,tsx,mjs}`);
      assert.ok(files.length > 0, `there are no files in ${folder}/`);
      const problems = files.flatMap((file) =>
        importsOf(readFileSync(join(root, file), 'utf8')).map((specifier) => problemOf(file, specifier)),
      );
      assert.deepEqual(
        problems.filter((problem) => problem !== null),
        [],
      );
    });
  }

  for (const folder of Object.keys(floors)) {
    it(`holds inside ${folder}/, for types too`, () => {
      const problems = filesOf(`${folder}/**/*.{ts,js}`).flatMap((file) =>
        importsOf(readFileSync(join(root, file), 'utf8')).map((specifier) => climbOf(file, specifier)),
      );
      assert.deepEqual(
        problems.filter((problem) => problem !== null),
        [],
      );
    });
  }

  it('holds inside admin/src/, for types too', () => {
    const faults = filesOf('admin/src/**/*.{ts,tsx}').flatMap((file) =>
      importsOf(readFileSync(join(root, file), 'utf8')).map((specifier) => adminFault(file, specifier)),
    );
    assert.deepEqual(
      faults.filter((fault) => fault !== null),
      [],
    );
  });

  it('runs in no circle of more than three files, types counted', () => {
    const files = filesOf(`{${Object.keys(rules)}}/**/*.{ts,tsx,js,mjs}`).filter(
      (file) => !file.startsWith('admin/dist/'),
    );
    const imports = new Map(
      files.map((file) => {
        const specifiers = importsOf(readFileSync(join(root, file), 'utf8')).filter((one) => one.startsWith('.'));
        return [file, specifiers.map((one) => normalize(join(dirname(file), one)).replaceAll('\\', '/'))];
      }),
    );
    assert.deepEqual(
      circlesIn(imports).filter(({ length }) => length > 3),
      [],
    );
  });

  it('knows every folder with source in it', () => {
    const folders = new Set(
      globSync('*/**/*.{ts,mjs}', {
        cwd: root,
        exclude: (name) => name === 'node_modules' || name.startsWith('.'),
      }).map((file) => file.split(/[\\/]/)[0] as string),
    );
    // Tests, benchmarks, the build of the binary, and built files have no rules.
    for (const folder of ['test', 'bench', 'dist', 'binary', 'build']) folders.delete(folder);
    assert.deepEqual([...folders].sort(), Object.keys(rules).sort());
  });

  it('keeps everything but types out of the client', () => {
    const runTime = globSync('client/**/*.ts', { cwd: root }).flatMap((file) =>
      importsOf(stripTypeScriptTypes(readFileSync(join(root, file), 'utf8')))
        .filter((specifier) => !specifier.startsWith('./'))
        .map((specifier) => `${file} imports ${specifier}`),
    );
    assert.deepEqual(runTime, []);
  });

  it('keeps test/ and bench/ out of the service', () => {
    for (const folder of Object.keys(rules)) {
      assert.equal(
        problemOf(`${folder}/x.ts`, '../test/helpers/service.ts'),
        `${folder}/x.ts may not import ../test/helpers/service.ts`,
      );
    }
  });

  it('leaves the environment to server/', () => {
    const readers = globSync('{config,storage,events,projections,client,verify}/**/*.{ts,mjs}', { cwd: root }).filter(
      (file) => readFileSync(join(root, file), 'utf8').includes('process.env'),
    );
    assert.deepEqual(readers, []);
  });

  it('leaves it to ownModule to find modules that are no imports: their names are others in the package', () => {
    const sources = globSync('{config,storage,events,projections,server,cli}/**/*.ts', { cwd: root });
    const found = sources.filter((file) => /new URL\(['"`][^)]*\.ts['"`]/.test(readFileSync(join(root, file), 'utf8')));
    assert.deepEqual(found, []);
  });

  it('leaves it to startThread and readAsset to find threads and files: in the binary neither has a path', () => {
    const sources = globSync('{config,storage,events,projections,server,cli}/**/*.ts', { cwd: root });
    const own = ['threads', 'carried', 'version', 'form'].map((name) => `server/platform/${name}.ts`);
    const finding = /\bnew Worker\(|\bnew URL\([^)]*import\.meta\.url|import\.meta\.(?:dirname|filename)/;
    const found = sources.filter((file) => finding.test(readFileSync(join(root, file), 'utf8')));
    // An author's error has no frame in the folder of our own code.
    assert.deepEqual(found.sort(), [...own, 'server/settings/load-errors.ts'].sort());
    const missing = [...ownAssets, ...Object.values(threadModules).map((path) => `${path}.ts`)].filter(
      (path) => !existsSync(join(root, path)),
    );
    assert.deepEqual(missing, []);
  });

  it('keeps all but types out of what every route of the server is given', () => {
    for (const file of ['server/app.ts', 'server/ports.ts']) {
      const code = stripTypeScriptTypes(readFileSync(join(root, file), 'utf8')).replace(
        /^\s*\/\/.*$|\/\*.*?\*\//gms,
        '',
      );
      assert.equal(code.trim(), '', `${file} holds more than types`);
    }
  });

  it('is found broken if it is', () => {
    const source = [
      "import Hapi, { type Server } from '@hapi/hapi';",
      "import type { App } from '../server/app.ts';",
      "export { x } from '../events/facts/log.ts';",
      "import {\n  a,\n  b,\n} from './near.ts';",
      "import '../storage/sqlite.ts';",
      "const lazy = await import('minio/dist/x.js');",
      "import fs from 'fs';",
      "// import '../server/no.ts';",
      'const text = "did you import it from here";',
    ].join('\n');
    assert.deepEqual(importsOf(source), [
      '@hapi/hapi',
      '../server/app.ts',
      '../events/facts/log.ts',
      './near.ts',
      '../storage/sqlite.ts',
      'minio/dist/x.js',
      'fs',
    ]);
    assert.deepEqual(
      importsOf(source).map((specifier) => problemOf('projections/x.ts', specifier)),
      [
        'projections/x.ts may not import the package @hapi/hapi',
        'projections/x.ts may not import ../server/app.ts',
        null,
        null,
        null,
        'projections/x.ts may not import the package minio',
        'projections/x.ts imports fs without node:',
      ],
    );
    assert.deepEqual(
      [
        '../access/access.ts',
        '../../http/body.ts',
        '../app.ts',
        './near.ts',
        '../../config/model.ts',
        '../odd/x.ts',
      ].map((specifier) => climbOf('server/http/x.ts', specifier)),
      [
        'server/http/x.ts may not import ../access/access.ts: http stands below access',
        null,
        null,
        null,
        null,
        'server/odd/x.ts stands on no floor of server/',
      ],
    );
    assert.deepEqual(
      ['../document/form/store.ts', '../references/reference-row.tsx', '../../frame/head.tsx', '../../odd/x.ts'].map(
        (specifier) => adminFault('admin/src/pages/media/x.ts', specifier),
      ),
      [
        'admin/src/pages/media/x.ts may not import ../document/form/store.ts',
        null,
        'admin/src/pages/media/x.ts may not import ../../frame/head.tsx: pages is below frame',
        'admin/src/pages/media/x.ts or admin/src/odd/x.ts stands on no floor of admin/src/',
      ],
    );
    const ring = new Map([
      ['a', ['b', 'e']],
      ['b', ['c']],
      ['c', ['a', 'd']],
      ['d', ['e']],
      ['e', ['d']],
    ]);
    assert.deepEqual(circlesIn(ring), [
      ['a', 'b', 'c'],
      ['d', 'e'],
    ]);
  });
});

describe('The plan of the service', () => {
  it('has at most six files in server/ itself', () => {
    const files = readdirSync(join(root, 'server'), { withFileTypes: true }).filter((one) => !one.isDirectory());
    assert.ok(files.length <= 6, files.map(({ name }) => name).join(', '));
  });

  it('has no folder of fewer than three files', () => {
    assert.deepEqual(smallFolders('{events,projections,server,cli}/*/**/*.*'), []);
  });
});

describe('The plan of admin/src/', () => {
  it('has no folder of fewer than three files', () => {
    assert.deepEqual(smallFolders('admin/src/*/**/*.*'), []);
  });

  it('has at most sixteen files in a folder of pages', () => {
    const folders = Map.groupBy(filesOf('admin/src/pages/**/*.*'), (file) => dirname(file));
    assert.deepEqual(
      [...folders].filter(([, files]) => files.length > 16).map(([folder]) => folder),
      [],
    );
  });
});

/** The folders that hold some of the files, and fewer than three. */
function smallFolders(pattern: string): string[] {
  const sources = filesOf(pattern).filter((file) => !file.endsWith('.md'));
  const folders = Map.groupBy(sources, (file) => dirname(file));
  return [...folders].filter(([, files]) => files.length < 3).map(([folder]) => folder);
}

/** Files that choose the status of an error, and why they have to stands in the first. */
const choosers = [
  'server/http/errors.ts',
  'server/documents/hooks.ts',
  'server/http/listener.ts',
  'server/running/embedded/gate.ts',
  'server/running/metrics/listener.ts',
  'server/accounts/mail/mailbox.ts',
];

/** The places at which a source text chooses a status from 400 on; comments do not count. */
function statusesIn(text: string): string[] {
  const code = text.replace(/^\s*\/\/.*$/gm, '').replace(/\/\*.*?\*\//gs, '');
  const byBoom = /\bBoom\.(?!isBoom\b)\w+\(/g;
  const byCall = /(?:\.code|writeHead|\brefuse)\([^;\n]*?\b(?:4\d\d|5[01]\d)\b/g;
  const byNumber = /(?:\bstatus(?:Code)? = |[:[?] ?)(?:4\d\d|5[01]\d)\b/g;
  return [byBoom, byCall, byNumber].flatMap((pattern) => [...code.matchAll(pattern)].map(([found]) => found));
}

describe('A wait of a test', () => {
  /** A bound of ten seconds or more limits a wait; shorter ones are measured times. */
  const own =
    /(?:const|let) \w+ = (?:Date|performance)\.now\(\) \+ \d{2,3}_?000\b|(?:eventually|askUntil|inTime)\([^\n]*, [\d_]{4,}\)/;

  it('has its bound from test/helpers/patience.ts', () => {
    const files = globSync('test/**/*.ts', { cwd: root }).filter((file) => !file.startsWith('test/helpers/'));
    const found = files.filter((file) => own.test(readFileSync(join(root, file), 'utf8')));
    assert.deepEqual(found, []);
  });

  it('is found with a bound of its own', () => {
    const bound = '30_000';
    for (const text of [`const end = Date.now() + ${bound};`, `await eventually(() => isThere(), ${bound});`])
      assert.match(text, own);
  });
});

describe('The status of an error', () => {
  // The descriptions are in openapi/, and commands look at answers.
  const sources = globSync('{server,cli}/**/*.ts', {
    cwd: root,
    exclude: ['server/openapi/**', 'server/**/*operations.ts'],
  }).map((file) => file.replaceAll('\\', '/'));
  const found = new Map(sources.map((file) => [file, statusesIn(readFileSync(join(root, file), 'utf8'))]));

  it('is chosen in server/http/errors.ts, and by the files that its comment names', () => {
    const others = [...found].filter(([file, statuses]) => statuses.length > 0 && !choosers.includes(file));
    assert.deepEqual(others, []);
    const comment = readFileSync(join(root, 'server/http/errors.ts'), 'utf8');
    for (const file of choosers.slice(1)) assert.ok(comment.includes(`\`${file.slice('server/'.length)}\``), file);
  });

  it('is chosen by each of these', () => {
    assert.deepEqual(
      choosers.filter((file) => found.get(file)?.length === 0),
      [],
    );
  });

  it('is found if a file chooses it', () => {
    const choosing = [
      "throw Boom.notFound('there is no such file');",
      'const boom = new Boom.Boom(error.message, { statusCode });',
      'throw Object.assign(new Error(), { statusCode: 418 });',
      "return h.response({ status }).code(status === 'ready' ? 200 : 503);",
      "refuse(response, 404, 'no');",
      'response.writeHead(417, {});',
      'const statusCode = known ? 409 : 410;',
      "return [404, 'no'];",
      "const statusOf = { 'not-found': 404 };",
      'const status = response?.statusCode ?? 499;',
    ];
    for (const source of choosing) assert.notDeepEqual(statusesIn(source), [], source);
    const others = [
      'return response.code(201);',
      'if (answered.status >= 400 || status === 401) return 2;',
      'return error instanceof DomainError || Boom.isBoom(error);',
      '/** Answers with `statusCode: 404`. */',
      'const chunk = 500;',
    ];
    for (const source of others) assert.deepEqual(statusesIn(source), [], source);
  });
});

describe('docs/architecture.md', () => {
  it('names every room of events/, projections/ and server/', () => {
    const text = readFileSync(join(root, 'docs/architecture.md'), 'utf8');
    const told = Object.values(floors).flat();
    assert.deepEqual(
      told.filter((name) => !text.includes(name.includes('.') ? `\`${name}\`` : `\`${name}/\``)),
      [],
    );
  });

  it('leads to every page of a room', () => {
    const pages = filesOf('{admin,cli,client,config,events,projections,runtime,server,storage}/**/README.md');
    const text = readFileSync(join(root, 'docs/architecture.md'), 'utf8');
    const missing = pages
      .filter((page) => !page.includes('node_modules'))
      .filter((page) => !text.includes(`](../${dirname(page)}/)`));
    assert.deepEqual(missing, []);
  });
});

describe('client/README.md', () => {
  it('names every file of client/', () => {
    const text = readFileSync(join(root, 'client/README.md'), 'utf8');
    assert.deepEqual(
      filesOf('client/*.ts').filter((file) => !text.includes(file)),
      [],
    );
  });
});

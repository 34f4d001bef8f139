import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { packageName } from '../config/package-name.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Phrases for which plain English has a shorter one (CONTRIBUTING.md, Style). */
const phrases = /\bis none\b|\b[Ww]hoever\b|\b[Nn]obody\b|\b[Ww]hat is no\b|\bso many\b|\bthat of no\b/g;

/** A sentence that begins with one of these words. Group 1 is how it ends: a question mark allows it. */
const beginnings = /\b(?:Who|What|Whoever)\b(?:(?!\n\s*\n)[^.!?|])*([.!?|]?)/g;

/**
 * The number of old habits that are left in the sources, by folder at the top. These are upper bounds that only
 * decrease, until each is 0. The ones in verify/, and all but one in server/, are texts of archives, whose bytes the
 * verifier compares.
 */
const left: Record<string, number> = {
  admin: 0,
  bench: 0,
  binary: 0,
  cli: 0,
  client: 0,
  config: 0,
  docs: 0,
  events: 0,
  examples: 0,
  projections: 0,
  runtime: 0,
  server: 12,
  storage: 0,
  test: 0,
  verify: 4,
};

/** A Markdown text without its code blocks, code spans and headings; every line stays where it is. */
function proseOf(markdown: string): string {
  const blank = (code: string) => code.replace(/[^\n]/g, ' ');
  return markdown
    .replace(/^( *)```[\s\S]*?^\1```$/gm, blank)
    .replace(/`[^`]*`/g, blank)
    .replace(/^#+ .*$/gm, blank);
}

/** Each old habit in a text, as `file:line: words`. */
function habitsIn(file: string, text: string): string[] {
  const sentences = [...text.matchAll(beginnings)].filter(([, end]) => end !== '?');
  const found = [...sentences, ...text.matchAll(phrases)].sort((a, b) => a.index - b.index);
  const at = new Map(found.map((match) => [match.index, match[0].replace(/\s+/g, ' ').slice(0, 60)]));
  return [...at].map(([index, words]) => `${file}:${text.slice(0, index).split('\n').length}: ${words}`);
}

function filesOf(pattern: string): string[] {
  return globSync(pattern, { cwd: root, exclude: (name) => name === 'node_modules' || name === 'dist' })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => file !== 'test/words.test.ts')
    .sort();
}

/** The pages of the rooms: each tells the story of its folder. */
const rooms = filesOf(
  '{admin,bench,binary,cli,client,config,events,projections,runtime,server,storage,verify}/**/README.md',
);
const pages = [
  ...['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md'],
  ...filesOf('{docs,examples}/**/*.md'),
  ...rooms,
];

const textOf = (file: string) => readFileSync(join(root, file), 'utf8');

describe('The words', () => {
  for (const file of pages) {
    it(`of ${file} are free of the old habits`, () => {
      assert.deepEqual(habitsIn(file, proseOf(textOf(file))), []);
    });
  }

  for (const [folder, most] of Object.entries(left)) {
    it(`of ${folder}/ have no more of the old habits than before`, () => {
      const habits = filesOf(`${folder}/**/*.{ts,tsx,mjs,cjs,js,html,py}`).flatMap((file) =>
        habitsIn(file, textOf(file)),
      );
      assert.ok(habits.length <= most, `${habits.length} in ${folder}/, at most ${most}:\n${habits.join('\n')}`);
    });
  }

  it('are counted in every folder with source in it', () => {
    const folders = filesOf('*/**/*.{ts,mjs,js,py}').map((file) => file.split('/')[0] as string);
    assert.deepEqual(
      Object.keys(left).sort(),
      [...new Set(folders)].filter((name) => !['dist', 'build'].includes(name)).sort(),
    );
  });

  it('are found, each in its line', () => {
    const text =
      'It is none.\nNobody asks. Who asks?\n\n- What is read\n  is kept. | Whoever | `nobody` and what is no field\n';
    assert.deepEqual(habitsIn('x.md', proseOf(text)), [
      'x.md:1: is none',
      'x.md:2: Nobody',
      'x.md:4: What is read is kept.',
      'x.md:5: Whoever',
      'x.md:5: what is no',
    ]);
  });
});

/**
 * The lines of comments that are wider than code may be; biome wraps code alone, and wants its own comments in one
 * line.
 */
function wideIn(file: string): string[] {
  const lines = textOf(file).split('\n');
  return lines.flatMap((line, index) =>
    line.length > 120 && /^\s*(?:\/\/(?! biome-ignore)|\/?\*)/.test(line) ? [`${file}:${index + 1}`] : [],
  );
}

describe('The comments', () => {
  for (const folder of Object.keys(left)) {
    it(`of ${folder}/ keep to 120 columns`, () => {
      assert.deepEqual(filesOf(`${folder}/**/*.{ts,tsx,mjs,cjs,js}`).flatMap(wideIn), []);
    });
  }
});

describe('The length of the pages', () => {
  const mostOf: Record<string, number> = { 'docs/architecture.md': 300, 'docs/performance.md': 300 };

  for (const file of [...rooms, ...Object.keys(mostOf)]) {
    const most = mostOf[file] ?? 60;
    it(`of ${file} is at most ${most} lines`, () => {
      assert.ok(textOf(file).trimEnd().split('\n').length <= most);
    });
  }
});

/** A path of this repository in a text: of a folder with its slash, or of a file with its ending. */
const paths =
  /(?<![\w/.-])(?:bench|binary|cli|client|config|events|examples|projections|runtime|server|storage|test|verify)\/(?:[\w.-]+\/)*(?:[\w-][\w.-]*\.\w+)?(?![\w*…])/g;

describe('The paths of the pages', () => {
  for (const file of pages) {
    it(`of ${file} are those of files and folders`, () => {
      const wrong = [...new Set(textOf(file).match(paths))].filter((path) => !existsSync(join(root, path)));
      assert.deepEqual(wrong, []);
    });
  }
});

/** The anchor of a heading, as GitHub makes it. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

describe('The links of the pages', () => {
  const anchors = new Map(
    pages.map((file) => [
      file,
      new Set([...textOf(file).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => anchorOf(heading))),
    ]),
  );

  for (const file of pages) {
    it(`of ${file} lead to a file, and to a heading of it`, () => {
      const links = [...textOf(file).matchAll(/\]\(\s*(?![a-z]+:)([^)#\s]*)(?:#([^)\s]*))?\s*\)/g)];
      const broken = links.filter(([, path = '', anchor]) => {
        const target = path === '' ? file : posix.join(posix.dirname(file), path);
        if (!existsSync(join(root, target))) return true;
        return anchor !== undefined && anchors.get(target)?.has(anchor) === false;
      });
      assert.deepEqual(
        broken.map(([link]) => link),
        [],
      );
    });
  }
});

const manifest = JSON.parse(textOf('package.json')) as { name: string; version: string };
const ownNames = `(?:${packageName}|${packageName}-verify)`;
/** What takes a package of that name from a registry: its name is not ours there, so anybody may own it. */
const fromRegistry = new RegExp(
  [
    `\\b(?:npm|pnpm|yarn|bun) +(?:install|i|add|view|exec)(?: +-[\\w=-]+)* +${ownNames}(?![\\w.-]*\\.tgz|[\\w/-])`,
    // If no package is installed, npx fetches one. --no makes npx refuse, and takes the next word as its value unless
    // the two dashes come first.
    `\\bnpx +(?!--no -- )(?:-[\\w=-]+ +)*${ownNames}\\b`,
    `\\b(?:unpkg\\.com|esm\\.sh|jsdelivr\\.net/npm|npmjs\\.com/package)/${ownNames}\\b`,
  ].join('|'),
  'g',
);
const tarballs = new RegExp(`\\b${packageName}-(\\d[\\w.-]*)\\.tgz`, 'g');

/** A text as it is read: a command may go on in the next line. */
const oneLine = (text: string) => text.replace(/\s+/g, ' ');

describe('The name of the package', () => {
  it('is the one of package.json', () => {
    assert.equal(manifest.name, packageName);
  });

  const texts = [
    ...['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md'],
    ...filesOf('{docs,examples,deploy,binary}/**/*.{md,yaml,service,sh}'),
    ...filesOf('{config,server,cli,client,events,projections,storage}/**/*.{ts,txt}'),
    ...filesOf('verify/*.mjs'),
  ];

  it('is installed by no text from a registry, where it is not ours', () => {
    const found = texts.flatMap((file) =>
      [...oneLine(textOf(file)).matchAll(fromRegistry)].map(([it]) => `${file}: ${it}`),
    );
    assert.deepEqual(found, []);
  });

  it('has the present version wherever a text installs the file of npm pack', () => {
    const found = texts.flatMap((file) =>
      [...textOf(file).matchAll(tarballs)]
        .filter(([, version]) => version !== manifest.version)
        .map(([it]) => `${file}: ${it}`),
    );
    assert.deepEqual(found, []);
    const installing = ['README.md', 'docs/tutorial.md', 'docs/operations.md', 'docs/client.md'];
    assert.deepEqual(
      installing.filter((file) => textOf(file).match(tarballs) === null),
      [],
    );
  });

  it('is found where a registry would be asked for it', () => {
    const asked = [
      'npm install annals',
      'npm\ni annals',
      'npm add -D annals',
      'npx annals serve',
      'npx -y annals-verify x',
      'npm install annals@1',
    ];
    const other = [
      'npm install ../annals/annals-0.1.0.tgz',
      'npm install ./annals-0.1.0.tgz',
      'npx --no -- annals serve',
      'npx vite',
      'npm run annals',
    ];
    assert.deepEqual(
      [...asked, ...other].filter((text) => oneLine(text).match(fromRegistry)),
      asked,
    );
  });
});

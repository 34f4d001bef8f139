import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { loadConfiguration } from '../../server/settings/configuration.ts';
import { useFolder } from '../helpers/shared.ts';

/** Each module is in a folder of its own, because a module is loaded once. */
const folder = useFolder();

/** The error of a configuration, without the folder; it is the first of these files. */
async function refusalOf(name: string, files: Record<string, string>): Promise<string> {
  const own = join(folder, name);
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(own, file)), { recursive: true });
    writeFileSync(join(own, file), text);
  }
  const [first = ''] = Object.keys(files);
  const refused = await loadConfiguration(join(own, first)).then(
    () => assert.fail('it is loaded'),
    (error: Error) => error,
  );
  assert.equal(refused.name, 'UsageError', String(refused));
  const [line = '', ...more] = refused.message.replaceAll(`${own}/`, '').split('\n');
  assert.deepEqual(more, [], 'no stack');
  return line.replace(`${first} cannot be loaded: `, '');
}

const right = 'export default {};\n';

describe('a configuration that cannot be loaded', () => {
  it('is told where its syntax is wrong, in TypeScript and in JavaScript, also in what it imports', async () => {
    const wrong = "const a = 1;\nexport default {\n  collections: [{ slug: 'a', fields: [ }],\n};\n";
    const at = { 'a.ts': 'Expression expected', 'a.mjs': "Unexpected token '}'" };
    for (const [file, message] of Object.entries(at)) {
      assert.equal(await refusalOf(file, { [file]: wrong }), `${message}, at ${file}:3:40`);
    }
    const imported = { 'c.ts': `import './fields.ts';\n${right}`, 'fields.ts': wrong };
    assert.equal(await refusalOf('imported', imported), 'Expression expected, at fields.ts:3:40');
    const declared = 'const a = 1;\n  const a = 2;\nexport default a;';
    assert.equal(
      await refusalOf('twice', { 'c.ts': declared }),
      "Identifier 'a' has already been declared, at c.ts:2:9",
    );
    const more = 'types are only removed here, and it is more than a type:';
    for (const [name, text, column, instead] of [
      ['enum', 'enum A { b }', 1, "write an object, const Status = { draft: 'draft' } as const"],
      ['namespace declaration', 'namespace A { export const b = 1; }', 1, 'write a module, and import it'],
      [
        'parameter property',
        'class A { constructor(private b: 1) {} }',
        31,
        'declare the property in the class, and set it in the constructor',
      ],
      ['import equals declaration', "import a = require('a');", 1, 'write an import as ES modules have it'],
      ['export assignment', 'export = 1;', 1, 'write export default'],
    ] as const)
      assert.equal(
        await refusalOf(name, { 'c.ts': `\n${text}\n${right}` }),
        `TypeScript ${name} is not supported, at c.ts:2:${column}; ${more} ${instead}`,
      );
    const commonJs = { 'c.js': `import './x.js';\n${right}`, 'package.json': '{ "type": "commonjs" }' };
    assert.match(
      await refusalOf('commonjs', commonJs),
      /^Cannot use import statement outside a module, at c\.js:1:1; call it \.mts or \.mjs, or put /,
    );
  });

  it('is told where its syntax is wrong, also if Node is started with options of somebody', async () => {
    const before = process.env.NODE_OPTIONS;
    process.env.NODE_OPTIONS = '--import ./nowhere.mjs';
    try {
      assert.equal(await refusalOf('optioned', { 'c.mjs': 'export default {' }), 'Unexpected end of input, at c.mjs:1');
    } finally {
      if (before === undefined) delete process.env.NODE_OPTIONS;
      else process.env.NODE_OPTIONS = before;
    }
  });

  it('is told where it throws: the innermost place that is of the author', async () => {
    const thrown = { 'c.ts': `\n  throw new Error('boom\\n  in two lines');\n${right}` };
    assert.equal(await refusalOf('throws', thrown), 'boom, at c.ts:2:9');
    assert.equal(
      await refusalOf('awaits', { 'c.ts': "await Promise.reject(new Error('later'));" }),
      'later, at c.ts:1:22',
    );
    const inNode = { 'c.ts': "import fs from 'node:fs';\nexport default fs.readFileSync('/none');" };
    assert.equal(await refusalOf('node', inNode), "ENOENT: no such file or directory, open '/none', at c.ts:2:19");
    const inPackage = {
      'c.ts': `import { give } from 'given';\nimport { call } from './mine.mts';\nexport default call(give);`,
      'mine.mts': 'export function call(run: () => void) {\n  return run();\n}',
      'node_modules/given/package.json': '{ "name": "given", "type": "module", "exports": "./index.js" }',
      'node_modules/given/index.js': "export function give() { throw new TypeError('no'); }",
    };
    assert.equal(await refusalOf('package', inPackage), 'no, at mine.mts:2:10');
    const inCommonJs = { 'c.cjs': '\n\nnull.x;' };
    assert.match(await refusalOf('cjs', inCommonJs), /^Cannot read properties of null .*, at c\.cjs:3:6$/);
    assert.equal(await refusalOf('text', { 'c.ts': "throw 'a text';" }), 'it throws "a text", and no error');
  });

  it('is told which file an import probably means, and where it stands', async () => {
    const sibling = { 'sib.ts': 'export const x = 1;', 'sub/index.mjs': 'export const x = 1;' };
    for (const [specifier, meant] of [
      ['./sib', './sib.ts'],
      ['./sib.js', './sib.ts'],
      ['./sub', './sub/index.mjs'],
    ] as const) {
      const files = { 'c.ts': `\nimport { x } from '${specifier}';\n${right}`, ...sibling };
      const line = await refusalOf(`import ${specifier.replaceAll('/', '-')}`, files);
      assert.match(line, new RegExp(`, at c\\.ts:2:19; write '${meant.replaceAll('.', '\\.')}'$`));
    }
    const none = await refusalOf('none', { 'c.ts': `import './none';\n${right}` });
    assert.match(none, /^Cannot find module '.*none' imported from .*, at c\.ts:1:8$/);
    const nothing = await refusalOf('nothing', { 'c.ts': `import 'no-such-package';\n${right}` });
    assert.match(nothing, /^Cannot find package 'no-such-package' imported from /);
    const exported = await refusalOf('exported', { 'c.ts': `import { y } from './sib.ts';\n${right}`, ...sibling });
    assert.match(exported, /does not provide an export named 'y', at c\.ts:1:10$/);
  });
});

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { temporaryFolder } from '../helpers/service.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The errors of the compiler in these files, the first line of each. */
async function compiled(t: TestContext, files: Record<string, string>): Promise<string[]> {
  const folder = temporaryFolder(t);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const paths = { annals: [join(root, 'config/index.ts')], 'annals/client': [join(root, 'client/index.ts')] };
  const compilerOptions = {
    ...{ target: 'esnext', module: 'preserve', noEmit: true, allowImportingTsExtensions: true, types: [], paths },
    ...{ strict: true, noUncheckedIndexedAccess: true, exactOptionalPropertyTypes: true },
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }));
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  const { stdout } = await promisify(execFile)(process.execPath, [compiler, '-p', folder], { cwd: folder }).catch(
    (error) => error as { stdout: string },
  );
  return stdout.split('\n').filter((line) => line.includes(': error '));
}

describe('defineConfig', () => {
  it('tells of a wrong hook where it stands, and leaves all that is typed by the configuration its types', async (t) => {
    const lines = [
      "import { defineConfig, type HookArgs, type Json, type JsonObject } from 'annals';",
      'const count = (data: JsonObject): Json => Object.keys(data).length;',
      'export default defineConfig({',
      '  audit: ({ user }) => user !== null,',
      '  collections: [{',
      "    slug: 'posts',",
      '    access: { read: ({ user }) => user !== null },',
      '    hooks: { beforeChange: [({ data }) => ({ ...data, n: count(data) })] },',
      '    fields: [',
      "      { name: 'title', type: 'text', required: true,",
      '        hooks: { beforeChange: ({ value }: { value: unknown } & HookArgs) => value } },',
      "      { name: 'status', type: 'select', options: ['draft', { value: 'published' }], required: true },",
      "      { type: 'row', fields: [{ name: 'n', type: 'number', access: { update: () => false } }] },",
      "      { name: 'author', type: 'relationship', relationTo: 'authors', hooks: { afterRead: ({ value }) => value } },",
      '    ],',
      "  }, { slug: 'authors', auth: { depth: 1 }, fields: [{ name: 'name', type: 'text', required: true }] }],",
      "  globals: [{ slug: 'site', fields: [{ name: 'open', type: 'boolean' }], access: { read: ({ req }) => req.ip !== '' } }],",
      '});',
    ];
    const consumer = [
      "import type config from './config.ts';",
      "import type { AuthSlug, CollectionSlug, DocumentOf, GlobalOf, UserOf, WhereOf } from 'annals/client';",
      'type C = typeof config;',
      'type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;',
      'type Is<T extends true> = T;',
      'type Stored = { id: string; createdAt: string; updatedAt: string };',
      'type Author = Stored & { email: string; name: string };',
      'type Whole<T> = { [Key in keyof T]: T[Key] };',
      'export type Tests = [',
      "  Is<Equal<CollectionSlug<C>, 'posts' | 'authors'>>,",
      "  Is<Equal<AuthSlug<C>, 'authors'>>,",
      "  Is<Equal<UserOf<C, 'authors'>, Whole<Author>>>,",
      "  Is<Equal<DocumentOf<C, 'posts', 1>, Whole<Stored & { title: string; status: 'draft' | 'published'; n: number | null;",
      '    author: string | Whole<Author> | null }>>>,',
      "  Is<Equal<GlobalOf<C, 'site'>['open'], boolean | null>>,",
      '];',
      "export const right: WhereOf<C, 'posts'> = { title: { like: 'x' }, 'author.name': { equals: 'x' } };",
      '// @ts-expect-error there is no such field',
      "export const wrong: WhereOf<C, 'posts'> = { titel: { like: 'x' } };",
    ];
    assert.deepEqual(await compiled(t, { 'config.ts': lines.join('\n'), 'consumer.ts': consumer.join('\n') }), [
      "config.ts(11,18): error TS2322: Type '({ value }: { value: unknown; } & HookArgs) => unknown' is not assignable to type 'OneOrMore<FieldHook> | undefined'.",
    ]);
    const [, example = ''] = /```ts\n(import [^`]*)```/.exec(readFileSync(join(root, 'docs/hooks.md'), 'utf8')) ?? [];
    assert.deepEqual(await compiled(t, { 'hooks.ts': example }), []);
  });
});

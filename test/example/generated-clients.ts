import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { OpenApi } from '../helpers/contract.ts';
import { compile, typesOf, withOlderTypeScript } from '../helpers/openapi-types.ts';
import type { Service } from '../helpers/service.ts';
import { useFolder } from '../helpers/shared.ts';
import { runProgram } from './programs.ts';

const text = readFileSync(new URL('../../docs/openapi.md', import.meta.url), 'utf8');
const [section = ''] = /^### Generated clients$.*?(?=^##)/ms.exec(text) ?? [];
const [serializer = '', ofFetch = '', ofHey = '', ofOrval = ''] = [...section.matchAll(/^```ts\n(.*?)^```$/gms)].map(
  ([, code = '']) => code,
);

/** Wrong and right filters. */
const uses = `
  import createClient from 'openapi-fetch';
  import type { paths } from './annals';
  import { listCountries } from './annals-sdk/sdk.gen';

  const client = createClient<paths>();
  const wrong = { area: { like: 'x' } };
  export const calls = [
    listCountries({ query: { where: JSON.stringify(wrong) } }),
    // @ts-expect-error no number has this operator
    listCountries({ query: { where: wrong } }),
    // @ts-expect-error neither a filter nor a text
    listCountries({ query: { where: 3 } }),
    // @ts-expect-error no number has this operator
    client.GET('/api/collections/countries', { params: { query: { where: wrong } } }),
  ];
`;

/** Describes them, as of a service that has loaded the atlas. */
export function describeGeneratedClients(service: Service): void {
  describe('the clients that are generated as docs/openapi.md says', () => {
    const folder = useFolder();

    before(async () => {
      const { body } = await service.call('GET', '/api/openapi.json', undefined, { key: null });
      symlinkSync(
        fileURLToPath(new URL('../../node_modules', import.meta.url)),
        join(folder, 'node_modules'),
        'junction',
      );
      writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
      writeFileSync(join(folder, 'annals.ts'), await typesOf(body));
      await generateSdk(body, join(folder, 'annals-sdk'));
      for (const [name, code] of Object.entries({ 'query-serializer': serializer, fetch: ofFetch, hey: ofHey, uses }))
        writeFileSync(join(folder, `${name}.ts`), code);
    });

    it('compile with the filters that are written there, and not with others', async () => {
      assert.equal(
        await compile(folder, { module: 'esnext', moduleResolution: 'bundler', lib: ['es2024', 'dom'] }),
        '',
      );
    });

    for (const [name, program, least] of [
      ['openapi-fetch', ofFetch, 2],
      ['@hey-api/openapi-ts', ofHey, 1],
    ] as const) {
      it(`filter what is there: ${name}`, async () => {
        const hooks = registerHooks({ resolve: asBundlersDo(folder) });
        try {
          const file = join(folder, `run-${name.replace(/\W/g, '-')}.ts`);
          const { printed, expected } = await runProgram(file, program, service);
          assert.deepEqual(printed, expected);
          assert.ok(expected.length >= least, `only ${expected.length} lines are printed`);
        } finally {
          hooks.deregister();
        }
      });
    }

    it('of orval are given a function that is there', () => {
      const [, path, name] = /paramsSerializer: \{ path: '\.\/(\S+)', name: '(\w+)' \}/.exec(ofOrval) ?? [];
      assert.equal(path, /^\/\/ (\S+)\n/.exec(serializer)?.[1]);
      assert.match(serializer, new RegExp(`^export function ${name}\\(`, 'm'));
    });
  });
}

/** Generates a client. Like openapi-typescript, the generator calls the compiler of TypeScript 5. */
async function generateSdk(document: OpenApi, output: string): Promise<void> {
  mkdirSync(output);
  await withOlderTypeScript(async () => {
    // The types of the generator need TypeScript 5 too.
    const name = '@hey-api/openapi-ts';
    const { createClient } = await import(name);
    await createClient({ input: document, output, logs: { level: 'silent', file: false } });
  });
}

/** Imports in a folder end in nothing or in `.js`, as bundlers take them and generators write them. */
function asBundlersDo(folder: string): NonNullable<Parameters<typeof registerHooks>[0]['resolve']> {
  const inside = pathToFileURL(folder).href;
  return (name, context, next) => {
    const isInside = /^\.\.?\//.test(name) && context.parentURL?.startsWith(`${inside}/`);
    if (!isInside) return next(name, context);
    const module = name.replace(/\.js$/, '');
    try {
      return next(`${module}.ts`, context);
    } catch {
      return next(`${module}/index.ts`, context);
    }
  };
}

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';

const run = promisify(execFile);
const joi = createRequire(import.meta.url).resolve('joi');
const urlOf = (path: string) => JSON.stringify(new URL(`../../${path}`, import.meta.url).href);

describe('A thread that reads a configuration', () => {
  it('loads joi for the first body that it checks, and not before', async () => {
    const script = `
      import { createRequire } from 'node:module';
      import { checkConfig } from ${urlOf('config/check.ts')};
      import { compileValidator } from ${urlOf('config/documents.ts')};
      import ${urlOf('cli/service/serve.ts')};
      const isLoaded = () => Object.hasOwn(createRequire(${urlOf('package.json')}).cache, ${JSON.stringify(joi)});
      const config = { collections: [{ slug: 'notes', fields: [{ name: 'text', type: 'text' }] }] };
      const { collections } = checkConfig(config);
      const before = isLoaded();
      compileValidator([...collections.values()][0]);
      console.log(before, isLoaded());`;
    const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script]);
    assert.equal(stdout, 'false true\n');
  });
});

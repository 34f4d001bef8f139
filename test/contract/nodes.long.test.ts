import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { describeWithPostgres } from '../helpers/postgres.ts';
import { s3Skip } from '../helpers/s3.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const patience = 900_000;

/** Each file, with a test of it that has to have run. */
const files = {
  'contract.test.ts': /holds for every answer of every operation/,
  'audit.test.ts': /are described for what there is to see/,
};

describeWithPostgres('The contract of two nodes behind a balancer', () => {
  for (const [file, wanted] of Object.entries(files)) {
    it(`is that of a service of one process: ${file}`, { skip: s3Skip, timeout: patience }, async () => {
      const args = ['test/run.js', `--test-timeout=${patience}`, `test/contract/${file}`];
      // The words of this runner to its files must not reach another one.
      const { NODE_TEST_CONTEXT: _, ...environment } = process.env;
      const child = spawn(process.execPath, args, {
        cwd: root,
        env: { ...environment, TEST_NODES: '2', TEST_RUNS: '1' },
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      let output = '';
      child.stdout.setEncoding('utf8').on('data', (text) => {
        output += text;
      });
      const code = await new Promise((resolve) => child.once('close', resolve));
      assert.equal(code, 0, output.slice(-8000));
      assert.match(output, wanted);
    });
  }
});

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { inherited } from './helpers/service.ts';
import { useFolder } from './helpers/shared.ts';

const folder = useFolder();

/** A failed test as a report lists it. */
const line = ({ file, test }: { file: string; test: string }) =>
  `test at ${file}:12:3\n✖ ${test} (12.5ms)\n  Error: x\n`;

function retry(report: string, known: readonly object[]): { status: number | null; stderr: string; stdout: string } {
  const [list, path] = [join(folder, 'unsteady.json'), join(folder, 'report')];
  writeFileSync(list, JSON.stringify(known));
  writeFileSync(path, report);
  const { NODE_TEST_CONTEXT: _, ...env } = inherited();
  return spawnSync(process.execPath, ['test/retry.js', path], {
    encoding: 'utf8',
    env: { ...env, TEST_UNSTEADY: list },
  });
}

describe('The retry of a failed test', () => {
  const steady = { file: 'test/unsteady.test.ts', test: 'has few tests, each for two weeks at most, with the reason' };
  const other = { file: 'test/unsteady.test.ts', test: 'is refused where it has more (and so on)' };

  it('is for those in the list alone, and is told', () => {
    const passed = retry(`✔ all\n\n✖ failing tests:\n\n${line(steady)}`, [steady]);
    assert.equal(passed.status, 0, passed.stdout + passed.stderr);
    assert.match(passed.stdout, /^ℹ pass 1$/m);
    assert.match(passed.stderr, /^retried 1:\n {2}test\/unsteady\.test\.ts: has few tests/m);
    const unknown = retry(line(steady) + line(other), [steady]);
    assert.equal(unknown.status, 1);
    assert.match(
      unknown.stderr,
      /^failed, and not in test\/unsteady\.json:\n {2}test\/unsteady\.test\.ts: is refused/m,
    );
    assert.doesNotMatch(unknown.stderr, /has few tests/);
  });

  it('fails if the test does not pass, or no failed test is to be found', () => {
    const none = retry('no test failed', []);
    assert.deepEqual([none.status, none.stderr], [1, 'no failed test has a place in the report\n']);
    const renamed = { ...steady, test: 'has another name by now' };
    assert.equal(retry(line(renamed), [renamed]).status, 1);
  });
});

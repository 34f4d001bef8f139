import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLog } from '../../server/platform/logging.ts';

/** The line in which an error is logged. */
function lineOf(err: Error): { err: { message: string; advice?: string } } {
  const lines: string[] = [];
  createLog('info', { write: (line) => lines.push(line) }).error({ err }, 'a request failed');
  return JSON.parse(lines.join(''));
}

describe('An error in the log', () => {
  it('comes with what the operator can do, also about what has caused it', () => {
    const files = Object.assign(new Error('too many open files'), { code: 'EMFILE' });
    const { err } = lineOf(new Error('outer', { cause: new Error('inner', { cause: files }) }));
    assert.match(err.advice ?? '', /^raise the limit of open files/);
    assert.equal(lineOf(new Error('own words')).err.advice, undefined);
  });

  it('may be its own cause', () => {
    const error = new Error('around');
    error.cause = error;
    assert.match(lineOf(error).err.message, /^around/);
  });
});

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { errorCodes } from '../../config/error-codes.ts';
import { statusOf } from '../../server/http/errors.ts';
import { assertCoded, metElsewhere } from '../helpers/error-codes.ts';

const root = join(import.meta.dirname, '../..');
const statuses: Partial<Record<string, number>> = statusOf;

describe('The codes of errors (7)', () => {
  it('are on the page, each with its status and its meaning', () => {
    const page = readFileSync(join(root, 'docs/errors.md'), 'utf8');
    const rows = Object.entries(errorCodes).map(([code, meaning]) => {
      return `| \`${code}\` | ${statuses[code] ?? 'any'} | ${meaning.replace(/\.$/, '')} |`;
    });
    const table = `| \`code\` | Status | Meaning |\n|---|---|---|\n${rows.join('\n')}\n\n`;
    assert.ok(page.includes(table), `docs/errors.md must have this table:\n${table}`);
  });

  it('are each met by the test that is named for it, if not by the test of the contract', () => {
    for (const [code, file] of Object.entries(metElsewhere)) {
      assert.ok(Object.hasOwn(errorCodes, code), code);
      assert.ok(readFileSync(join(root, file), 'utf8').includes(`'${code}'`), `${file} does not expect ${code}`);
    }
  });

  it('fail a call of a test service if they are missing, not in the list, or of another status', () => {
    const check = (status: number, code?: string) => () =>
      assertCoded('GET /', { status, body: { statusCode: status, code } });
    for (const [status, code] of [
      [404, 'not_found'],
      [404, 'route_not_found'],
      [418, 'hook_refused'],
      [418, 'malformed'],
    ] as const)
      assert.doesNotThrow(check(status, code));
    for (const [status, code] of [
      [404, undefined],
      [404, 'NotFound'],
      [404, 'forbidden'],
    ] as const)
      assert.throws(check(status, code), /GET \//);
  });
});

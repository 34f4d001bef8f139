import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { login } from '../helpers/accounts.ts';
import { annalsWords } from '../helpers/command.ts';
import { writeConfig } from '../helpers/service.ts';
import { useFolder, useService } from '../helpers/shared.ts';
import { hasTerminals, onTerminal } from '../helpers/terminal.ts';

const config = {
  bcryptCost: 4,
  rateLimit: false as const,
  collections: [{ slug: 'users', auth: true as const, fields: [] }],
};
const password = 'correct horse battery';
const configFile = writeConfig(useFolder(), config);
const service = useService(config);

describe('The password on a terminal', { skip: !hasTerminals, concurrency: true }, () => {
  const create = (email: string) => {
    const words = [...annalsWords(), 'create-user', 'users', '--email', email, '--config', configFile];
    return `${[...words, '--data', service.data].map((word) => `'${word}'`).join(' ')}`;
  };
  const sane = ['echo', 'icanon', 'isig'];
  const first = /Password: /;
  const again = /Repeat the password: /;

  it('is asked for twice and never shown, and can be mended while it is typed', async (t) => {
    const { shown, exit, settings } = await onTerminal(t, create('terminal@example.org'), [
      [first, 'correct horse batterx\u007fy\r'],
      [again, 'correct horse battery\r'],
    ]);
    assert.match(shown, /^Password: \nRepeat the password: \n[0-9a-f-]{36}\n$/);
    assert.deepEqual([exit, settings], ['exit code 0', sane]);
    assert.equal((await login(service, 'users', 'terminal@example.org', password)).status, 200);
  });

  it('is asked for anew when it cannot be one, or is not the same twice', async (t) => {
    const { shown, exit } = await onTerminal(t, create('anew@example.org'), [
      [first, 'short\r'],
      [first, 'correct horse\r'],
      [again, 'correct house\r'],
      [first, `${password}\r`],
      [again, `${password}\r`],
    ]);
    assert.match(shown, /It must have at least 8 characters\.\n.*The passwords differ\.\n/s);
    assert.equal(exit, 'exit code 0');
    assert.equal((await login(service, 'users', 'anew@example.org', password)).status, 200);
  });

  for (const [name, key] of [
    ['Ctrl-C', '\u0003'],
    ['Ctrl-D', '\u0004'],
  ] as const) {
    it(`can be refused by ${name}: nothing is done, and the terminal is as it was`, async (t) => {
      const { shown, exit, settings } = await onTerminal(t, create(`${name}@example.org`), [
        [first, `${password}\r`],
        [again, key === '\u0003' ? `half${key}` : key],
      ]);
      assert.match(shown, /\ncancelled; nothing was done\n$/);
      assert.deepEqual([exit, settings], ['exit code 2', sane]);
      assert.equal((await login(service, 'users', `${name}@example.org`, password)).status, 401);
    });
  }
});

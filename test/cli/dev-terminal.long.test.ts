import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { annalsWords } from '../helpers/command.ts';
import { startHere } from '../helpers/embedded.ts';
import { temporaryFolder } from '../helpers/service.ts';
import { hasTerminals, onTerminal } from '../helpers/terminal.ts';

const posts = '/api/collections/posts';
const configOf = (name: string) => ({
  collections: [{ slug: 'posts', fields: [{ name, type: 'text' as const }] }],
});

describe('annals dev at a terminal', { skip: !hasTerminals }, () => {
  it('asks before documents show less, after a save and at its start', async (t) => {
    const first = await startHere(t, configOf('title'));
    await first.call('POST', posts, { title: 'a' });
    await first.stop();
    const file = join(temporaryFolder(t), 'annals.config.mjs');
    const save = (name: string) => writeFileSync(file, `export default ${JSON.stringify(configOf(name))};`);
    save('title');
    const words = [...annalsWords(), 'dev', '--config', file, '--data', first.data, '--port', '0', '--threads', '0'];
    // Ctrl-C reaches the shell too.
    const command = `trap : INT; ${words.map((word) => `'${word}'`).join(' ')}`;
    const later = (name: string) => () => {
      save(name);
      return '';
    };
    const question = /posts\.\w+ is gone: 1 document had a value of it[^?]*\?\s+.*Go on all the same\? \[y\/N\] /s;
    const { shown, exit } = await onTerminal(t, command, [
      [/listening on/, later('headline')],
      [question, 'n\r'],
      [/n\r*\n/, later('heading')],
      [question, 'y\r'],
      [/restarted, listening on/, '\u0003'],
    ]);
    assert.match(shown, /did you mean renamedFrom: 'title' in posts\.heading\?/);
    assert.equal(exit, 'exit code 0');
    const back = await startHere(t, configOf('heading'), { data: first.data });
    await back.call('POST', posts, { heading: 'b' });
    await back.stop();

    save('title');
    const refused = await onTerminal(t, command, [[question, 'n\r']]);
    assert.equal(refused.exit, 'exit code 2');
    const accepted = await onTerminal(t, command, [
      [question, 'y\r'],
      [/listening on/, '\u0003'],
    ]);
    assert.equal(accepted.exit, 'exit code 0');
  });
});

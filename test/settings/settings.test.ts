import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { serviceCommands } from '../../cli/service/service-commands.ts';
import { embeddedSettings, settings } from '../../server/settings/settings.ts';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

const usage = serviceCommands.serve?.usage ?? assert.fail('there is no annals serve');
const operations = read('docs/operations.md');
const embedding = read('docs/embedding.md');
const options = read('server/running/embedded/options.ts');

/** Whether a text has a word that is not a part of another one: `ANNALS_NODE` is not in `ANNALS_NODES`. */
const has = (text: string, word: string) => new RegExp(`(?<![\\w-])${word}(?![\\w-])`).test(text);

describe('A setting', () => {
  it('has a place in the usage of annals serve, in docs/operations.md and for an embedded service', () => {
    const missing = settings.flatMap(({ name, part, flag, environment }) => {
      const isEmbedded = embeddedSettings.some((one) => one.name === name && one.part === part);
      const places: [place: string, isThere: boolean][] = [
        ['the usage of annals serve (environment)', has(usage, environment)],
        ['the usage of annals serve (flag)', flag === undefined || has(usage, `--${flag}`)],
        ['docs/operations.md', has(operations, environment) && (flag === undefined || has(operations, `--${flag}`))],
        [
          'server/running/embedded/options.ts',
          !isEmbedded || new RegExp(`^  ${part ?? name}\\??: `, 'm').test(options),
        ],
        ['docs/embedding.md', !isEmbedded || has(embedding, part ?? name)],
      ];
      return places.filter(([, isThere]) => !isThere).map(([place]) => `${environment}: ${place}`);
    });
    assert.deepEqual(missing, []);
  });
});

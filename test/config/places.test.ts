import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { typeFacts } from '../../config/field-types.ts';
import { operatorNames } from '../../config/operators.ts';
import { schemaVersionOf } from '../../events/facts/catalogue.ts';

const root = join(import.meta.dirname, '../..');

/** The texts that name every member of a list, and how each of them writes a member. */
const lists: Record<string, { members: readonly string[]; places: Record<string, (member: string) => string> }> = {
  'operators of filters': {
    members: operatorNames,
    places: {
      'docs/filtering.md': (operator) => `\`${operator}\``,
      'cli/client-types/file.ts': (operator) => `${operator}?: `,
    },
  },
  'types of fields': {
    members: Object.keys(typeFacts),
    places: { 'docs/configuration.md': (type) => `\`${type}\`` },
  },
  'types of events': {
    members: Object.keys(schemaVersionOf),
    places: { 'docs/events.md': (type) => `\`${type}\`` },
  },
};

describe('The texts that list what the compiler cannot count', () => {
  for (const [name, { members, places }] of Object.entries(lists)) {
    it(`name all ${name}`, () => {
      const missing = Object.entries(places).flatMap(([place, written]) => {
        const text = readFileSync(join(root, place), 'utf8');
        return members.filter((member) => !text.includes(written(member))).map((member) => `${place}: ${member}`);
      });
      assert.deepEqual(missing, []);
    });
  }
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fieldTypeNames, fieldTypes } from '../../config/fields.ts';
import { otherWords } from '../../config/other-words.ts';
import { problemsOf } from './problems.ts';

/** The error of a field, without its path. */
function fieldProblems(field: object): string[] {
  const problems = problemsOf({ collections: [{ slug: 'posts', fields: [{ name: 'a', ...field }] }] });
  return problems.map((line) => line.replace('collections.posts.fields.a.', ''));
}

describe('the words of others', () => {
  it('are answered with ours, or with the note that we have no such word', () => {
    const typed = (type: string) => fieldProblems({ type }).join();
    assert.equal(typed('checkbox'), 'type: "checkbox" is not a type of field; write "boolean"');
    assert.equal(typed('string'), 'type: "string" is not a type of field; write "text"');
    assert.equal(typed('group'), 'type: "group" is not a type of field; write "object"');
    assert.equal(typed('dynamicZone'), 'type: "dynamicZone" is not a type of field; write "blocks"');
    assert.equal(typed('integer'), 'type: "integer" is not a type of field; write "number" with integer: true');
    assert.match(typed('password'), /^type: "password" is not a type of field; Annals has passwords of accounts only/);
    assert.match(typed('txt'), /^type: must be one of "text", .* got "txt"; did you mean "text"\?$/);
    assert.match(typed('constructor'), /^type: must be one of .* got "constructor"$/);

    const languages = 'Annals has no localized fields; write an object with a field for each language';
    assert.deepEqual(fieldProblems({ type: 'text', localized: true, validate: () => true, default: 'x' }), [
      `localized: is not an option of "text"; ${languages}`,
      `validate: is not an option of "text"; ${otherWords['a field']?.validate}`,
      'default: is not an option of "text"; write "defaultValue"',
    ]);
    assert.deepEqual(fieldProblems({ type: 'relationship', relationTo: ['tags', 'media'] }), [
      'relationTo: must be one slug, got a list of 2; write a field for each collection',
    ]);
  });

  it('are known in every place of a configuration', () => {
    const access = { find: () => true };
    const hooks = { afterCreate: () => {}, beforeLogin: () => {} };
    const collection = {
      slug: 'posts',
      name: 'Posts',
      versions: true,
      draftAndPublish: true,
      auth: { verify: true },
      access,
      hooks,
      fields: [],
    };
    const drafts = { autosave: true, maxPerDoc: 3 };
    const site = { slug: 'site', title: 'Site', drafts, fields: [], hooks: { beforeSave: () => {} } };
    const lines = problemsOf({
      jobs: {},
      plugins: [],
      db: {},
      versions: {},
      collections: [collection],
      globals: [site],
    });
    const expected = [
      'jobs: is not a key of the configuration; Annals runs no jobs',
      'plugins: is not a key of the configuration; Annals has no plugins',
      'db: is not a key of the configuration; it is not part of the configuration; set --data',
      'versions: is not a key of the configuration; write drafts: true at each collection and global',
      'collections.posts.name: is not a key of a collection; write "slug"',
      'collections.posts.versions: is not a key of a collection; every version is kept anyway; for drafts write "drafts"',
      'collections.posts.draftAndPublish: is not a key of a collection; write "drafts"',
      'collections.posts.auth.verify: is not a key of auth; an invitation proves the address',
      'collections.posts.access.find: is not a key of the access rules of a collection; write "read"',
      'collections.posts.hooks.afterCreate: is not a key of the hooks of a collection; write "afterChange", whose',
      'collections.posts.hooks.beforeLogin: is not a key of the hooks of a collection; Annals has no login hooks',
      'globals.site.title: is not a key of a global; write "label"',
      'globals.site.drafts.autosave: is not a key of drafts; unsaved changes are kept anyway, outside the history',
      'globals.site.drafts.maxPerDoc: is not a key of drafts; every version is kept',
      'globals.site.hooks.beforeSave: is not a key of the hooks of a global; write "beforeChange"',
    ];
    assert.deepEqual(
      lines.map((line, index) => line.slice(0, expected[index]?.length)),
      expected,
    );
  });

  it('are none of ours, and what is written in their place is', () => {
    const options = new Set<string>(Object.values(fieldTypes).flatMap((one) => one.options));
    const ours: Record<string, ReadonlySet<string>> = {
      'a type of field': new Set<string>(fieldTypeNames),
      'a field': options,
      'a collection': new Set([
        ...['slug', 'labels', 'fields', 'auth', 'upload', 'drafts', 'access', 'hooks', 'urls', 'history'],
      ]),
      'the configuration': new Set(['collections', 'globals', 'cors', 'email', 'audit']),
      'the hooks of a collection': new Set(
        ['Change', 'Read', 'Delete', 'Publish'].flatMap((what) => [`before${what}`, `after${what}`]),
      ),
      'the access rules of a collection': new Set(['read', 'create', 'update', 'delete', 'readDrafts', 'publish']),
      drafts: new Set(['validate', 'publishedAt']),
    };
    for (const [what, known] of Object.entries(ours)) {
      const lower = new Set([...known].map((word) => word.toLowerCase()));
      for (const [word, hint] of Object.entries(otherWords[what] ?? {})) {
        assert.equal(word, word.toLowerCase());
        assert.ok(!lower.has(word) || known === ours['a type of field'], `${what}: ${word} is one of ours`);
        for (const [, written = ''] of hint.matchAll(/write "(\w+)"/g)) {
          assert.ok(known.has(written), `${what}: ${word}: ${written} is not one of ours`);
        }
      }
    }
  });
});

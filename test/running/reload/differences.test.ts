import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkConfig } from '../../../config/check.ts';
import { differencesOf } from '../../../server/running/reload/differences.ts';

type Change = (config: ReturnType<typeof base>) => void;

const base = () => ({
  cors: ['https://a.example'],
  limits: { body: 1000 },
  collections: [
    {
      slug: 'posts',
      access: { read: { rule: () => true, description: 'All' } } as Record<string, unknown>,
      hooks: { beforeChange: [() => undefined] } as Record<string, unknown[]>,
      fields: [
        { name: 'title', type: 'text', label: 'Title' } as Record<string, unknown>,
        { name: 'kind', type: 'select', options: ['a', 'b'] } as Record<string, unknown>,
        { name: 'seo', type: 'object', fields: [{ name: 'score', type: 'number' } as Record<string, unknown>] },
        { name: 'layout', type: 'blocks', blocks: [{ slug: 'hero', fields: [{ name: 'text', type: 'text' }] }] },
      ] as Record<string, unknown>[],
    },
    { slug: 'users', auth: { maxLoginAttempts: 5 }, fields: [] as Record<string, unknown>[] },
  ] as Record<string, unknown>[],
  globals: [{ slug: 'site', drafts: true, fields: [{ name: 'name', type: 'text' }] } as Record<string, unknown>],
});

/** A part of a configuration by its path, for a change. */
// biome-ignore lint/suspicious/noExplicitAny: a configuration before it is checked has every shape
const at = (value: unknown, ...path: (string | number)[]): any =>
  path.reduce((part, key) => Reflect.get(part as object, key), value);

function differences(change: Change) {
  const config = base();
  change(config);
  return differencesOf(checkConfig(base()), checkConfig(config));
}

describe('The differences of two configurations', () => {
  it('are empty if nothing but the objects is another', () => {
    assert.deepEqual(
      differences(() => {}),
      { stored: [], all: [] },
    );
  });

  it('that documents are stored alike by are no reason for a restart', () => {
    const posts = 'collections.posts';
    const cases: [Change, string][] = [
      [(c) => c.cors.push('https://b.example'), 'cors was changed'],
      [(c) => Object.assign(c.limits, { body: 2000 }), 'limits.body was changed'],
      [(c) => Object.assign(c, { publicSchema: true }), 'publicSchema was added'],
      [(c) => Object.assign(c, { admin: false }), 'admin was turned off'],
      [(c) => Object.assign(c, { admin: { title: 'Desk' } }), 'admin.title was changed'],
      [(c) => Object.assign(c, { rateLimit: false }), 'rateLimit was turned off'],
      [
        (c) => Object.assign(at(c, 'collections', 0, 'access', 'read'), { rule: () => false }),
        `${posts}.access.read was changed`,
      ],
      [
        (c) => Object.assign(at(c, 'collections', 0, 'access', 'read'), { description: 'Each' }),
        `${posts}.access.read.description was changed`,
      ],
      [
        (c) => Object.assign(at(c, 'collections', 0, 'access'), { create: () => true }),
        `${posts}.access.create was added`,
      ],
      [
        (c) => at(c, 'collections', 0, 'hooks', 'beforeChange').push(() => undefined),
        `${posts}.hooks.beforeChange was changed`,
      ],
      [
        (c) => Object.assign(at(c, 'collections', 0, 'fields', 0), { label: 'T' }),
        `${posts}.fields.title.label was changed`,
      ],
      [
        (c) => Object.assign(at(c, 'collections', 0, 'fields', 0), { required: true }),
        `${posts}.fields.title.required was added`,
      ],
      [
        (c) => Object.assign(at(c, 'collections', 0, 'fields', 0), { defaultValue: 'x' }),
        `${posts}.fields.title.defaultValue was added`,
      ],
      [
        (c) => Object.assign(at(c, 'collections', 0, 'fields', 1), { options: ['a', 'c'] }),
        `${posts}.fields.kind.options was changed`,
      ],
      [
        (c) => Object.assign(at(c, 'collections', 0, 'fields', 2, 'fields', 0), { max: 5 }),
        `${posts}.fields.seo.score.max was added`,
      ],
      [(c) => Object.assign(at(c, 'collections', 0), { history: 'public' }), `${posts}.history was added`],
      [
        (c) => Object.assign(at(c, 'globals', 0), { drafts: { validate: true } }),
        'globals.site.drafts.validate was added',
      ],
      [
        (c) => Object.assign(at(c, 'collections', 1, 'auth'), { maxLoginAttempts: 6 }),
        'collections.users.auth.maxLoginAttempts was changed',
      ],
    ];
    for (const [change, told] of cases) assert.deepEqual(differences(change), { stored: [], all: [told] }, told);
  });

  it('tell that an option is turned on again', () => {
    const config = { ...base(), admin: false, rateLimit: false };
    assert.deepEqual(differencesOf(checkConfig(config), checkConfig(base())).all, [
      'admin was turned on',
      'rateLimit was turned on',
    ]);
  });

  it('are reasons if tables, claims or accounts depend on them; a new or removed part is named once', () => {
    const posts = 'collections.posts.fields';
    const cases: [Change, string][] = [
      [(c) => at(c, 'collections', 0, 'fields').push({ name: 'x', type: 'text', label: 'X' }), `${posts}.x was added`],
      [(c) => at(c, 'collections', 0, 'fields').splice(2, 1), `${posts}.seo was removed`],
      [
        (c) => Object.assign(at(c, 'collections', 0), { drafts: { validate: true } }),
        'collections.posts.drafts was added',
      ],
      [(c) => Object.assign(at(c, 'globals', 0), { drafts: false }), 'globals.site.drafts was removed'],
      [(c) => at(c, 'collections', 0, 'fields').reverse(), `the order of ${posts} was changed`],
      [(c) => Object.assign(at(c, 'collections', 0, 'fields', 0), { unique: true }), `${posts}.title.unique was added`],
      [
        (c) => Object.assign(at(c, 'collections', 0, 'fields', 0), { type: 'email' }),
        `${posts}.title.type was changed`,
      ],
      [
        (c) => at(c, 'collections', 0, 'fields', 2, 'fields').push({ name: 'y', type: 'text' }),
        `${posts}.seo.y was added`,
      ],
      [
        (c) =>
          at(c, 'collections', 0, 'fields', 3, 'blocks').push({ slug: 'quote', fields: [{ name: 'q', type: 'text' }] }),
        `${posts}.layout.quote was added`,
      ],
      [
        (c) => c.collections.push({ slug: 'notes', fields: [{ name: 'x', type: 'text' }] }),
        'collections.notes was added',
      ],
      [(c) => c.globals.push({ slug: 'menu', fields: [{ name: 'x', type: 'text' }] }), 'globals.menu was added'],
    ];
    for (const [change, told] of cases) assert.deepEqual(differences(change).stored, [told], told);
  });

  it('hold no value: an option may be a secret', () => {
    const transport =
      (pass: string): Change =>
      (c) => {
        Object.assign(c, { email: { from: 'a@example.org', transport: { host: 'x', auth: { user: 'u', pass } } } });
      };
    const [before, after] = ['hunter2', 'hunter3'].map((pass) => {
      const config = base();
      transport(pass)(config);
      return checkConfig(config);
    });
    assert.ok(before && after);
    assert.deepEqual(differencesOf(before, after).all, ['email.transport.auth.pass was changed']);
  });
});

import fc from 'fast-check';

/** Fields of every type but those that point to documents; `key` names a document in tests. */
const plain = [
  { name: 'key', type: 'text', required: true, unique: true },
  { name: 'text', type: 'text', defaultValue: 'a default' },
  { name: 'area', type: 'textarea' },
  { name: 'rich', type: 'richText' },
  { name: 'mail', type: 'email' },
  { name: 'url', type: 'url' },
  { name: 'count', type: 'number' },
  { type: 'row', fields: [{ name: 'isOn', type: 'boolean', defaultValue: true }] },
  { name: 'day', type: 'date' },
  { name: 'at', type: 'datetime' },
  { name: 'hour', type: 'time' },
  { name: 'mood', type: 'select', options: ['so', '=so'] },
  { name: 'way', type: 'radio', options: ['a', 'b'] },
  { name: 'tags', type: 'multiSelect', options: ['a', 'b', '-c'] },
  { name: 'more', type: 'json' },
];

const people = (name: string, more: object = {}) => ({ name, type: 'relationship', relationTo: 'people', ...more });
const works = (name: string, more: object = {}) => ({ name, type: 'relationship', relationTo: 'works', ...more });
const picture = { name: 'picture', type: 'upload', relationTo: 'pictures' };

/**
 * Every type of field, and relationships in circles: of a collection with itself, of two, and within lists and blocks.
 * An import comes to `works` first, whose required author has to wait for `people`.
 */
export const config = {
  bcryptCost: 4,
  collections: [
    {
      slug: 'people',
      fields: [
        plain[0],
        people('boss'),
        works('best'),
        { name: 'works', type: 'join', collection: 'works', on: 'author' },
      ],
    },
    {
      slug: 'works',
      fields: [
        ...plain,
        people('author', { required: true }),
        works('next'),
        works('related', { hasMany: true }),
        picture,
        { name: 'seo', type: 'object', fields: [{ name: 'title', type: 'text' }, works('from'), picture] },
        { name: 'links', type: 'array', fields: [{ name: 'label', type: 'text' }, works('to')] },
        {
          name: 'parts',
          type: 'blocks',
          blocks: [
            { slug: 'quote', fields: [{ name: 'text', type: 'textarea' }, people('by', { hasMany: true })] },
            { slug: 'work', fields: [works('work', { required: true })] },
          ],
        },
      ],
    },
    {
      slug: 'pictures',
      upload: true,
      fields: [plain[0], { name: 'alt', type: 'text', defaultValue: '-' }, people('by')],
    },
    {
      slug: 'users',
      auth: { useAPIKey: true },
      fields: [plain[0], picture, { name: 'role', type: 'select', options: ['chief'] }],
    },
  ],
  globals: [
    { slug: 'site', fields: [{ name: 'title', type: 'text' }, people('owner'), works('shown', { hasMany: true })] },
    { slug: 'unwritten', fields: [{ name: 'title', type: 'text', defaultValue: 'never written' }] },
  ],
};

const text = fc.string({
  unit: fc.constantFrom(...`=+-@\t\r\n"',;\\ aé漢1{}[]`, '🦊', '\u2028', '\u00a0'),
  maxLength: 9,
});
const json = fc.jsonValue({ maxDepth: 2 }).filter((value) => !JSON.stringify(value).includes('__proto__'));
const pad = (count: number) => String(count).padStart(2, '0');
const optional = <T>(of: fc.Arbitrary<T>) => fc.option(of, { nil: null });

/** Values of the plain fields of `works`, without `key`. */
export const values = fc.record({
  text: optional(text),
  area: optional(text),
  rich: optional(json),
  mail: optional(fc.constantFrom('a@example.org', '+b@example.org')),
  url: optional(fc.constantFrom('https://example.org/?a=1;b=2', 'http://example.org/')),
  count: optional(fc.oneof(fc.integer(), fc.double({ noNaN: true, min: -(2 ** 53) + 1, max: 2 ** 53 - 1 }))),
  isOn: optional(fc.boolean()),
  day: optional(fc.nat(27).map((day) => `2026-02-${pad(day + 1)}`)),
  at: optional(fc.nat(59).map((second) => `2026-02-01T10:00:${pad(second)}.000Z`)),
  hour: optional(fc.nat(23).map((hour) => `${pad(hour)}:30`)),
  mood: optional(fc.constantFrom('so', '=so')),
  way: optional(fc.constantFrom('a', 'b')),
  tags: fc.subarray(['a', 'b', '-c']),
  more: optional(json),
  seo: optional(fc.record({ title: optional(text) })),
});

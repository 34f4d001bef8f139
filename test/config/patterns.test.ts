import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { checkConfig } from '../../config/check.ts';
import { readPattern } from '../../config/patterns/pattern.ts';
import { startHere } from '../helpers/embedded.ts';
import { runsOf, seenOf } from '../helpers/runs.ts';
import { recordedEvents } from '../helpers/shared.ts';
import { problemsOf } from './problems.ts';

const all = 1000;

/** Pieces that read one character: each kind, and its oddities. */
const singles = [
  ...['a', 'b', 'k', 's', '1', '-', ' ', '_', 'é', '\\u{1f600}', '\\ud83d\\ude00', '😀', '\\n', '\\cJ', '\\x61', '\\/'],
  ...['.', '\\d', '\\D', '\\w', '\\W', '\\s', '\\S', '\\p{L}', '\\P{L}', '\\p{Script=Greek}', '\\p{Lu}'],
  ...['[ab]', '[^ab]', '[a-k\\d]', '[^\\s]', '[]', '[^]', '[\\b\\-]', '[\\u{1f600}-\\u{1f64f}]', '[\\w-]'],
];
const assertions = ['^', '$', '\\b', '\\B'];
const repetitions = ['*', '+', '?', '*?', '+?', '??', '{0}', '{2}', '{0,1}', '{1,3}', '{2,}', '{0,2}?'];
const groups = ['(?:', '('];
const looks = ['(?=', '(?!', '(?<=', '(?<!'];

const { pattern } = fc.letrec<{ pattern: string; row: string; item: string }>((tie) => ({
  pattern: fc.oneof(
    { depthSize: 'medium' },
    tie('row'),
    fc.tuple(tie('row'), tie('pattern')).map(([a, b]) => `${a}|${b}`),
  ),
  row: fc.array(tie('item'), { maxLength: 4 }).map((items) => items.join('')),
  item: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom(...singles),
    fc.constantFrom(...singles, ...assertions),
    fc.tuple(fc.constantFrom(...singles), fc.constantFrom(...repetitions)).map(([a, b]) => a + b),
    fc.tuple(fc.constantFrom(...groups, ...looks), tie('pattern')).map(([a, b]) => `${a}${b})`),
    fc
      .tuple(fc.constantFrom(...groups), tie('pattern'), fc.constantFrom(...repetitions))
      .map(([a, b, c]) => `${a}${b})${c}`),
  ),
}));
/**
 * Characters that the patterns tell apart. They are few, and the texts short, because the engine of Node tries all
 * ways.
 */
const characters = [
  'a',
  'b',
  'k',
  'A',
  'K',
  '\u212a',
  's',
  'ſ',
  '1',
  '-',
  ' ',
  '\u00a0',
  '_',
  'é',
  'É',
  'α',
  '😀',
  '\n',
  '\r',
  '\u2028',
];
const values = fc.array(fc.array(fc.constantFrom(...characters), { maxLength: 7 }), { minLength: 1, maxLength: 8 });

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');
setFlagsFromString('--no-expose-gc');

function heldBytes(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

describe('A pattern', () => {
  it('matches what the engine of Node matches', () => {
    let linear = 0;
    let matched = 0;
    fc.assert(
      fc.property(pattern, values, (source, texts) => {
        const { matches, backtracks } = readPattern(source);
        if (backtracks === null) linear += 1;
        const whole = new RegExp(`^(?:${source})$`, 'u');
        for (const text of texts.map((characters) => characters.join(''))) {
          assert.equal(matches(text), whole.test(text), `${source} on ${JSON.stringify(text)}`);
          if (matches(text)) matched += 1;
        }
      }),
      { numRuns: runsOf(all) },
    );
    assert.ok(linear >= seenOf(950, all) && matched >= seenOf(250, all), `${linear} were linear, ${matched} matched`);
  });

  it('matches a long text in no longer than it takes to read', () => {
    const long = 'a'.repeat(100_000);
    for (const source of [
      '(a+)+b',
      '(a|a)*b',
      '(.*)*b',
      'a*a*a*b',
      '(?=(a+)+b)a*',
      'a*(?<=(a|aa)+b)',
      '(a?){20}a{20}b',
    ]) {
      const { matches, backtracks } = readPattern(source);
      assert.deepEqual(
        [backtracks, matches(long), matches('aab')],
        [null, false, source !== '(?=(a+)+b)a*' && !source.includes('<=') && !source.includes('20')],
      );
    }
  });

  it('that has what no automaton has is matched all the same', () => {
    const doubled = readPattern('(a|b)\\1(?<n>x)\\k<n>');
    assert.deepEqual(['aaxx', 'bbxx', 'abxx'].map(doubled.matches), [true, true, false]);
    const many = readPattern('[^]{0,5000}');
    assert.deepEqual(['x'.repeat(5000), 'x'.repeat(5001)].map(many.matches), [true, false]);
    assert.deepEqual(
      [doubled, many].map(({ backtracks }) => backtracks),
      ['it has a backreference', 'it is too large'],
    );
  });

  it('that has modifiers is left to the engine of Node, and is an error if that knows none', () => {
    const [major = 0] = process.versions.node.split('.').map(Number);
    if (major < 24) return assert.throws(() => readPattern('(?i:a)b'), SyntaxError);
    const { matches, backtracks } = readPattern('(?i:a)b');
    assert.deepEqual([matches('Ab'), matches('AB'), backtracks], [true, false, 'it has modifiers']);
  });

  it('that repeats nothing is read like any other', () => {
    const source = '(?:){4000000000}a(?:b{0}(?:)){4000000000}';
    assert.deepEqual(['a', '', 'ab'].map(readPattern(source).matches), [true, false, false]);
  });

  it('keeps no more than so much of what it was asked, however many ways there are', () => {
    const { matches } = readPattern('[ab]*a[ab]{900}');
    const texts = fc.sample(fc.array(fc.constantFrom('a', 'b'), { minLength: 4900, maxLength: 4900 }), 2);
    const before = heldBytes();
    for (const text of texts.map((characters) => characters.join('')))
      assert.equal(matches(text), text.at(-901) === 'a');
    const kept = heldBytes() - before;
    assert.ok(kept < 5_000_000, `${kept} bytes`);
    assert.equal(matches('a'), false);
  });

  it('keeps no more than so much of what it was asked', () => {
    const { matches } = readPattern('(\\p{L}|[^]b?)*');
    const text = String.fromCodePoint(...Array.from({ length: 20_000 }, (_, index) => 0x4e00 + index));
    assert.deepEqual([matches(text), matches(`${text}\ud800`)], [true, true]);
  });
});

describe('A pattern that may take exponential time elsewhere', () => {
  const found = (source: string) => readPattern(source).isExponential();

  it('is told from one that does not', () => {
    const bad = [
      ...['(a+)+b', '(a*)*', '([a-z]+)*x', '(\\w+\\s?)+', '(a|a)*', '(\\d|\\w)+x', '(\\d{1,3})+', '(a{0,30}){0,30}'],
      ...[
        '(x+x+)+y',
        '(.*)*',
        '(\\p{L}+[ -]?)*',
        '(?:a|b|ab)*c',
        '(a|b|[a-c])*d',
        '^(([a-z])+.)+[A-Z]([a-z])+$',
        '(?=(a+)+b)a',
      ],
    ];
    const good = [
      ...[
        '[a-z0-9]+(-[a-z0-9]+)*',
        '(\\d{1,3}\\.){3}\\d{1,3}',
        '\\d{1,3}(,\\d{3})*',
        '([0-9a-f]{2})+',
        '(\\d{3})+',
        '.*.*x',
      ],
      ...[
        '[^@\\s]+@[^@\\s]+\\.[^@\\s]+',
        '(?=.*\\d)(?=.*[a-z]).{8,}',
        '((a|b)*c)*',
        '(?:a|b|c)+',
        '\\p{L}+([ -]\\p{L}+)*',
      ],
      ...['\\+?[\\d ]{6,20}', '(a|ab)(c|bcd)', '#([0-9a-f]{3}){1,2}', '', '(a{0})*', '[A-Z]{2}\\d{2}( ?\\w{4}){3,7}'],
    ];
    assert.deepEqual([bad.filter((source) => !found(source)), good.filter(found)], [[], []]);
  });

  it('is told in a time that does not grow as what may be in it', () => {
    // Each of these patterns took minutes, or all of the memory.
    assert.equal(found('[a-z]*'.repeat(99)), false);
    assert.equal(found('([\\w.]*[\\w-]*)'.repeat(49)), false);
    assert.equal(found(`(a+)+${'[a-z]*'.repeat(20)}`), true);
  });

  it('is a warning of the configuration, and so is one that is matched by trying', () => {
    const field = (name: string, pattern: string) => ({ name, type: 'text', pattern });
    const slow = '.+@.{1,255}\\.[a-z]{2,63}';
    const fields = [
      ...[
        field('a', '(a+)+b'),
        { ...field('b', '(a)\\1'), allowBacktracking: true },
        field('c', '[a-z-]+'),
        field('d', slow),
        field('e', '.{0,900}'),
      ],
      { ...field('f', slow), maxLength: 1000 },
    ];
    const { warnings } = checkConfig({ collections: [{ slug: 'posts', fields, access: { read: () => true } }] });
    assert.deepEqual(
      warnings.filter((warning) => warning.includes('.pattern')),
      [
        'collections.posts.fields.a.pattern: some values take most engines exponential time, as with "(a+)+"; the service matches in linear time, but clients that validate with its OpenAPI document may not',
        'collections.posts.fields.b.pattern: it has a backreference, so it is matched by backtracking, which may block a thread: limit the values with maxLength',
        'collections.posts.fields.d.pattern: each character of a long value may cost 322 steps, so a value as long as a body may block a thread for seconds: limit the values with maxLength',
      ],
    );
  });

  it('is refused if it could be matched only by trying, unless that is allowed beside it', () => {
    const text = { name: 'a', type: 'text' };
    const problems = (...fields: object[]) =>
      problemsOf({ collections: [{ slug: 'posts', fields, access: { read: () => true } }] });
    const refusal = (path: string, why: string) =>
      `collections.posts.fields.${path}.pattern: ${why}, so it can be matched only by backtracking, and one value may block a thread for seconds; rewrite it, or set allowBacktracking: true and a maxLength`;
    const backreference = 'it has a backreference';
    assert.deepEqual(problems({ ...text, pattern: '((a+)+)b\\1', maxLength: 80 }), [refusal('a', backreference)]);
    assert.deepEqual(problems({ ...text, pattern: '(?<x>a)\\k<x>', allowBacktracking: false }), [
      refusal('a', backreference),
    ]);
    assert.deepEqual(problems({ ...text, pattern: '[^]{0,5000}' }), [refusal('a', 'it is too large')]);
    // Wherever a pattern may stand.
    const inside = (field: object) => [
      { name: 'list', type: 'array', fields: [{ name: 'one', type: 'object', fields: [field] }] },
      { name: 'parts', type: 'blocks', blocks: [{ slug: 'part', fields: [{ type: 'row', fields: [field] }] }] },
    ];
    for (const type of ['text', 'textarea', 'email', 'url']) {
      const field = { name: 'a', type, pattern: '(a)\\1' };
      assert.deepEqual(problems(...inside(field)), [
        refusal('list.fields.one.fields.a', backreference),
        refusal('parts.blocks.part.fields.0.fields.a', backreference),
      ]);
      assert.deepEqual(problems(...inside({ ...field, allowBacktracking: true })), []);
    }
  });

  it('is allowed by a boolean option beside a pattern, which is no part of the schema', () => {
    const text = { name: 'a', type: 'text' };
    const problems = (...fields: object[]) =>
      problemsOf({ collections: [{ slug: 'posts', fields, access: { read: () => true } }] });
    const check = (field: object) =>
      checkConfig({ collections: [{ slug: 'posts', fields: [field], access: { read: () => true } }] });
    const at = 'collections.posts.fields.a';
    assert.deepEqual(problems({ ...text, pattern: 'a', allowBacktracking: 'yes' }), [
      `${at}.allowBacktracking: must be true or false, got "yes"`,
    ]);
    assert.deepEqual(problems({ ...text, allowBacktracking: true }), [
      `${at}.allowBacktracking: needs a pattern beside it`,
    ]);
    assert.deepEqual(problems({ name: 'a', type: 'number', allowBacktracking: true }), [
      `${at}.allowBacktracking: is not an option of "number"; the types that take it: "text", "textarea", "email", "url"`,
    ]);
    assert.deepEqual(problems({ ...text, pattern: '(a)\\1', allowBacktrack: true }).slice(0, 1), [
      `${at}.allowBacktrack: is not an option of "text"; did you mean "allowBacktracking"?`,
    ]);
    const schemaOf = (field: object) => check(field).collections.get('posts')?.schema;
    const pattern = '(a)\\1';
    assert.deepEqual(schemaOf({ ...text, pattern, allowBacktracking: true })?.fields, [{ ...text, pattern }]);
    const { warnings } = check({ ...text, pattern: 'a+', allowBacktracking: true });
    assert.deepEqual(
      warnings.filter((warning) => warning.includes('.allowBacktracking')),
      [`${at}.allowBacktracking: is not needed: the pattern is matched without backtracking`],
    );
  });

  it('keeps no start from a log whose recorded schema has one', async (t) => {
    const config = (field: object) => ({
      collections: [{ slug: 'posts', fields: [{ name: 'a', type: 'text' as const, ...field }] }],
    });
    const allowed = config({ pattern: '(a+)\\1', allowBacktracking: true });
    const first = await startHere(t, allowed);
    const { data } = first;
    const posts = '/api/collections/posts';
    const { status, body } = await first.call('POST', posts, { a: 'aa' });
    assert.equal(status, 201);
    assert.equal((await first.call('POST', posts, { a: 'aaa' })).status, 400);
    await first.stop();
    const size = recordedEvents(data).length;
    await (await startHere(t, allowed, { data })).stop();
    assert.equal(recordedEvents(data).length, size);
    await assert.rejects(startHere(t, config({ pattern: '(a+)\\1' }), { data }), /set allowBacktracking: true/);
    const linear = await startHere(t, config({ pattern: 'a*' }), { data });
    assert.equal((await linear.call('GET', `${posts}/${body.id}`)).body.a, 'aa');
    assert.equal((await linear.call('GET', `/api/audit/documents/posts/${body.id}`)).status, 200);
    assert.equal((await linear.call('POST', posts, { a: 'aaa' })).status, 201);
    await linear.stop();
    assert.equal(recordedEvents(data).filter(({ type }) => type === 'schema.changed').length, 2);
  });
});

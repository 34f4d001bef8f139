import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { lostNumberProblem, lostNumbers } from '../../server/platform/whole-numbers.ts';

/** The context of a value for a reviver: its text, which the types of the compiler do not know yet. */
type Revive = (this: unknown, key: string, value: unknown, context: { source?: string }) => unknown;

/**
 * The same result by a reviver, which sees the text of each number and wraps it, so that its path is found afterwards.
 */
function byReviver(text: string): string[] {
  class Lost {}
  const revive: Revive = (_key, value, { source }) => {
    const isWhole = typeof value === 'number' && source !== undefined && /^-?\d+$/.test(source);
    return isWhole && BigInt(source) !== answered(value) ? new Lost() : value;
  };
  const paths: string[] = [];
  const look = (value: unknown, path: readonly string[]): void => {
    if (value instanceof Lost) paths.push(JSON.stringify(path));
    else if (typeof value === 'object' && value !== null) {
      for (const [key, inner] of Object.entries(value)) look(inner, [...path, key]);
    }
  };
  look(JSON.parse(text, revive as (key: string, value: unknown) => unknown), []);
  return paths.sort();
}

/** The whole number that a client reads in an answer; null if the answer has none. */
function answered(value: number): bigint | null {
  const [mantissa = '', power = '0'] = JSON.stringify(value).split('e+');
  const [whole = '', fraction = ''] = mantissa.split('.');
  return Number.isFinite(value) ? BigInt(whole + fraction.padEnd(Number(power), '0')) : null;
}

describe('whole numbers in JSON', () => {
  it('are lost when they would be answered as others', () => {
    const kept = ['0', '-0', '1', '9007199254740991', '9007199254740992', '-9007199254740994', '12345678901234567000'];
    const large = ['100000000000000000000', '1000000000000000000000', `1${'0'.repeat(308)}`, '1152921504606847000'];
    const decimals = ['12345678901234567890.5', '0.12345678901234567890', '1234567890123456789e3', '1e400', '1E+20'];
    for (const source of [...kept, ...large, ...decimals]) assert.equal(lostNumberProblem(source), undefined, source);
    const lost = ['9007199254740993', '-9007199254740993', '12345678901234567890', '1152921504606846976'];
    for (const source of [...lost, `1${'0'.repeat(309)}`, `1${'0'.repeat(30)}1`]) {
      assert.match(
        lostNumberProblem(source) ?? '',
        /^be a number that JSON keeps, got -?\d+…?, which becomes /,
        source,
      );
    }
    assert.equal(
      lostNumberProblem('12345678901234567890'),
      'be a number that JSON keeps, got 12345678901234567890, which becomes 12345678901234567000; a text keeps every digit',
    );
    assert.ok((lostNumberProblem('7'.repeat(1_000_000)) ?? '').length < 200);
  });

  it('are found where they are, and not in texts and names, as a reviver finds them', () => {
    const digits = fc.stringMatching(/^-?[1-9][0-9]{14,24}$/);
    const rounded = digits.map((source) => BigInt(Number(source)).toString());
    const number = fc.oneof(digits, rounded, fc.double({ noNaN: true, noDefaultInfinity: true }).map(String));
    const some = fc.oneof(fc.constantFrom('a', '', '"', '\\', '\\"', '7'.repeat(20), '{', '[1', ':,'), fc.string());
    const text = some.map((value) => JSON.stringify(value));
    // V8 14 takes `"` for `\` if an object of these names had that: JSON.parse('{"a":1,"\\\\":2}') before
    // '{"a":1,"\\"":2}'.
    const name = text.filter((value) => !value.includes('\\\\'));
    const blank = fc.constantFrom('', ' ', '\n\t');
    const { value } = fc.letrec<{ value: string }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 4, depthSize: 'small' },
        fc.oneof(number, text, fc.constantFrom('true', 'null', '[]', '{}')),
        fc.array(tie('value'), { maxLength: 4 }).map((items) => `[${items.join(',')}]`),
        fc
          .uniqueArray(fc.tuple(name, blank, tie('value')), { maxLength: 4, selector: ([key]) => key })
          .map((members) => `{${members.map(([key, gap, inner]) => `${key}${gap}:${gap}${inner}${gap}`).join(',')}}`),
      ),
    }));
    let found = 0;
    fc.assert(
      fc.property(value, (json) => {
        const expected = byReviver(json);
        const paths = lostNumbers(json).map(({ path }) => JSON.stringify(path));
        assert.deepEqual(paths.sort(), expected, json);
        found += expected.length;
      }),
      { numRuns: Number(process.env.TEST_RUNS ?? 2000) },
    );
    assert.ok(found > 100, `${found} were found`);
  });

  it('are told by the beginning of a long key, with nothing of an escape that is cut', () => {
    const signs = fc.constantFrom('a', '"', '\\', 'ü', '\n', '\u0001', '\ud83d\ude00', '/');
    const name = fc.tuple(fc.array(signs, { maxLength: 20, minLength: 1 }), fc.integer({ min: 1, max: 400 }));
    const escaped = (text: string) =>
      text.replace(/./gsu, (sign) => (sign === 'a' ? '\\u0061' : JSON.stringify(sign).slice(1, -1)));
    fc.assert(
      fc.property(name, fc.boolean(), ([some, times], isEscaped) => {
        const key = some.join('').repeat(times);
        const written = isEscaped ? `"${escaped(key)}"` : JSON.stringify(key);
        const [told = ''] = lostNumbers(`{${written}:9007199254740993}`)[0]?.path ?? [];
        assert.ok(told.length < 2000 && (told === key || (told.length > 200 && key.startsWith(told))), told);
      }),
    );
  });

  it('are told up to a hundred, and to a depth of a hundred', () => {
    const many = `[${Array(200).fill('9007199254740993').join()}]`;
    assert.equal(lostNumbers(many).length, 100);
    const deep = `${'['.repeat(100_000)}9007199254740993${']'.repeat(100_000)}`;
    assert.equal(lostNumbers(deep)[0]?.path.length, 100);
  });
});

import fc from 'fast-check';

/** One change of an input: of bytes from a place on, whose numbers are taken modulo what there is. */
type Step = { how: How; at: number; length: number; what: number };
type How = keyof typeof changes;

/** The beginnings of inputs, and the words of their language. */
export type Material = { seeds: readonly Buffer[]; words: readonly (string | Buffer)[] };

const longest = 128 * 1024;

/** Bytes and numbers at which parsers break: signs, lengths of two and four bytes at their ends, lengths of DER. */
const odd = ['00', 'ff', '7f', '80', '0a', '0d0a', '22', '5c', 'c3', 'eda080', 'efbbbf', 'f09f9880'];
const numbers = [
  '0000',
  'ffff',
  'ff7f',
  '7fffffff',
  'ffffffff',
  '80000000',
  '00000080',
  '84ffffffff',
  '3080',
  '0000000000000000',
];
const given = [...odd, ...numbers].map((hex) => Buffer.from(hex, 'hex'));

const changes = {
  flip: (bytes: Buffer, at: number, { what }: Step) =>
    put(bytes, at, at + 1, Buffer.of((bytes[at] ?? 0) ^ (1 << (what % 8)))),
  put: (bytes: Buffer, at: number, { what }: Step, words: readonly Buffer[]) => {
    const word = of(words, what);
    return put(bytes, at, at + word.length, word);
  },
  insert: (bytes: Buffer, at: number, { what }: Step, words: readonly Buffer[]) => put(bytes, at, at, of(words, what)),
  drop: (bytes: Buffer, at: number, { length }: Step) => put(bytes, at, at + length, Buffer.alloc(0)),
  repeat: (bytes: Buffer, at: number, { length, what }: Step) => {
    const part = bytes.subarray(at, at + length);
    return put(bytes, at, at, Buffer.concat(Array<Buffer>(2 ** (what % 11)).fill(part)));
  },
  move: (bytes: Buffer, at: number, { length, what }: Step) => {
    const rest = put(bytes, at, at + length, Buffer.alloc(0));
    const to = what % (rest.length + 1);
    return put(rest, to, to, bytes.subarray(at, at + length));
  },
  cut: (bytes: Buffer, at: number) => bytes.subarray(0, at),
  splice: (bytes: Buffer, at: number, { length, what }: Step, _: readonly Buffer[], seeds: readonly Buffer[]) => {
    const other = of(seeds, what);
    return put(bytes, at, bytes.length, other.subarray(length % (other.length + 1)));
  },
} satisfies Record<
  string,
  (bytes: Buffer, at: number, step: Step, words: readonly Buffer[], seeds: readonly Buffer[]) => Buffer
>;

/**
 * Inputs that are like the seeds, with up to 12 changes each; an empty one is among the seeds, from which words alone
 * are put together.
 */
export function mutations({ seeds, words }: Material): fc.Arbitrary<Buffer> {
  const begins = [...seeds, Buffer.alloc(0)];
  const said = [...words.map((word) => Buffer.from(word as string)), ...given];
  const step = fc.record({
    how: fc.constantFrom(...(Object.keys(changes) as How[])),
    // Most of what is told stands at the beginning.
    at: fc.oneof(fc.nat(200), fc.nat(longest)),
    length: fc.oneof(fc.nat(16), fc.nat(2000)),
    what: fc.nat(2 ** 20),
  });
  return fc.tuple(fc.constantFrom(...begins), fc.array(step, { minLength: 1, maxLength: 12 })).map(([begin, steps]) => {
    let bytes = Buffer.from(begin);
    for (const one of steps) {
      const changed = changes[one.how](bytes, one.at % (bytes.length + 1), one, said, begins);
      bytes = Buffer.from(changed.subarray(0, longest));
    }
    return bytes;
  });
}

function put(bytes: Buffer, from: number, to: number, middle: Buffer): Buffer {
  return Buffer.concat([bytes.subarray(0, from), middle, bytes.subarray(to)]);
}

function of(list: readonly Buffer[], at: number): Buffer {
  return list[at % list.length] as Buffer;
}

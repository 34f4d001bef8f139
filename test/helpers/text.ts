import fc from 'fast-check';

const surrogates = 0x800;
const character = fc.integer({ min: 0, max: 0x10ffff - surrogates }).map((code) => {
  return String.fromCodePoint(code < 0xd800 ? code : code + surrogates);
});
const names = ['__proto__', 'constructor', 'prototype', 'toString', 'valueOf', 'hasOwnProperty'];

/**
 * Any text without lone surrogates, and now and then a name that objects have already. `fc.string({ unit: 'binary' })`
 * gives the same, but fast-check takes a second to list all of Unicode first.
 */
export function anyText({ maxLength = 0x7fffffff }: { maxLength?: number } = {}): fc.Arbitrary<string> {
  const text = fc.string({ unit: character, maxLength });
  const known = names.filter(({ length }) => length <= maxLength);
  if (known.length === 0) return text;
  return fc.oneof({ weight: 19, arbitrary: text }, { weight: 1, arbitrary: fc.constantFrom(...known) });
}

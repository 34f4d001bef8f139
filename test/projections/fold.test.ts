import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { fold } from '../../projections/tables/fold.ts';

/**
 * The full foldings (status F of CaseFolding.txt, Unicode 17.0) of the characters that have no canonical decomposition.
 */
const full: Record<string, string> = {
  ...{ ß: 'ss', ŉ: 'ʼn', և: 'եւ', ẚ: 'aʾ', ẞ: 'ss', ﬀ: 'ff', ﬁ: 'fi', ﬂ: 'fl', ﬃ: 'ffi', ﬄ: 'ffl', ﬅ: 'st', ﬆ: 'st' },
  ...{ ﬓ: 'մն', ﬔ: 'մե', ﬕ: 'մի', ﬖ: 'վն', ﬗ: 'մխ' },
};

/** Beyond these planes nothing has a case or a decomposition. */
const everyCharacter = Array.from({ length: 0x30000 }, (_, code) => String.fromCodePoint(code)).filter((one) => {
  return /[^\p{Cn}\p{Cs}]/u.test(one);
});

/**
 * By each character that case changes, one of those that the common and simple foldings make the same, as V8 has them.
 */
function simpleFoldings(): Map<string, string> {
  const changing = everyCharacter.filter((one) => /\p{CWCM}|\p{CWCF}/u.test(one));
  const all = changing.join('');
  const found = new Map<string, string>();
  for (const one of changing) {
    if (found.has(one)) continue;
    const same = all.match(new RegExp(`\\u{${one.codePointAt(0)?.toString(16)}}`, 'giu')) ?? [];
    // The iota that stands below a letter is folded to the one that is a letter.
    const letter = same.find((other) => !/\p{M}/u.test(other)) ?? one;
    for (const other of same) found.set(other, letter);
  }
  return found;
}

const simple = simpleFoldings();

/** A text that two texts have in common exactly when they are a canonical caseless match (Unicode Standard, D145). */
function canonical(text: string): string {
  const folded = [...text.normalize('NFD')].map((one) => {
    return [...(full[one] ?? one)].map((part) => simple.get(part) ?? part).join('');
  });
  return folded.join('').normalize('NFD');
}

describe('folding', () => {
  it('makes the same of exactly those characters that Unicode calls the same', () => {
    const byFold = new Map<string, string>();
    const byCanonical = new Map<string, string>();
    const wrong: string[] = [];
    for (const one of everyCharacter) {
      const [ours, theirs] = [fold(one), canonical(one)];
      if ((byFold.get(ours) ?? theirs) !== theirs || (byCanonical.get(theirs) ?? ours) !== ours) wrong.push(one);
      byFold.set(ours, theirs);
      byCanonical.set(theirs, ours);
    }
    assert.deepEqual(wrong, []);
    assert.ok(byFold.size > 100_000 && byFold.size < everyCharacter.length - 1400, `${byFold.size}`);
  });

  it('makes the same of exactly those texts that Unicode calls the same', () => {
    const parts = [...'aAiIıİßẞſsKkKÅåΩωΣσςϴθµμǰꭰᎠᾳᾼᾴᾷΐΰ한가ㄱ', 'ﬀ', 'e\u0301', 'ά', 'α', 'ι', '😀', '𐐀', '𐐨'];
    const marks = ['\u0345', '\u0301', '\u0307', '\u0308', '\u030a', '\u030c', '\u0323', '\u11a8'];
    const text = fc.array(fc.constantFrom(...parts, ...marks), { maxLength: 5 }).map((some) => some.join(''));
    const ways: ((text: string) => string)[] = [
      (one) => one,
      (one) => one.normalize('NFC'),
      (one) => one.normalize('NFD'),
      (one) => one.toLowerCase(),
      (one) => one.toUpperCase(),
      (one) => [...one].reverse().join(''),
    ];
    const counts = { same: 0, other: 0 };
    fc.assert(
      fc.property(text, text, fc.constantFrom(...ways), fc.boolean(), (one, another, way, isOther) => {
        const other = isOther ? another : way(one);
        const isSame = canonical(one) === canonical(other);
        assert.equal(fold(one) === fold(other), isSame, JSON.stringify([one, other]));
        counts[isSame ? 'same' : 'other'] += one === other ? 0 : 1;
      }),
      { numRuns: Number(process.env.TEST_RUNS ?? 2000) },
    );
    assert.ok(counts.same > 200 && counts.other > 200, JSON.stringify(counts));
  });

  it('is of ASCII what SQLite makes of it', () => {
    const ascii = everyCharacter.slice(1, 128).join('');
    assert.equal(
      fold(ascii),
      ascii.replace(/[a-z]/g, (one) => String.fromCharCode(one.charCodeAt(0) - 32)),
    );
  });
});

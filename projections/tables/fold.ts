/** The only characters that need more than `toUpperCase`. In a Latin-1 text V8 does not even look for them. */
const hasMore = /ı|[\u0300-\uffff]/;
/**
 * The iota below a letter, and letters that have it. Folding makes it a separate letter, so marks must be in order
 * before.
 */
const hasIota = /[\u0345\u1f80-\u1fff]/;

/**
 * Text as it is compared without regard to case, and to how its characters are composed: two texts are folded alike
 * when they are a canonical caseless match (Unicode Standard, section 3.13, D145), and only then. In upper case, as
 * SQLite folds ASCII itself.
 */
export function fold(text: string): string {
  if (!hasMore.test(text)) return text.toUpperCase();
  const lower = (hasIota.test(text) ? text.normalize('NFD') : text).toLowerCase();
  // Letters that Unicode folds alike have one upper case, except for ı, which is not the i whose upper case it has.
  const upper = lower.includes('ı') ? lower.replace(/[^ı]+/g, (part) => part.toUpperCase()) : lower.toUpperCase();
  return upper.normalize('NFC');
}

/** A text in the form whose trigrams are indexed: folded, and without NUL, at which the tokenizer would end. */
export function trigramText(text: string): string {
  return fold(text).replaceAll('\0', '\ufffd');
}

/**
 * A function that counts things in a language: from `# file` and `# files` it makes "1 file" and "2,000 files". Each
 * `#` becomes the number.
 */
export function countedIn(language: string): (count: number, one: string, other: string) => string {
  const numbers = new Intl.NumberFormat(language);
  const plurals = new Intl.PluralRules(language);
  return (count, one, other) => {
    const text = plurals.select(count) === 'one' ? one : other;
    return text.replaceAll('#', () => numbers.format(count));
  };
}

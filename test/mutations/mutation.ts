/**
 * A fault that the service has had, or could have, and the quick test that is there to find it.
 *
 * @property what one sentence that says what would be wrong.
 * @property file the source, by its path from the root.
 * @property text stands in it once, and becomes `replacement`.
 * @property test the file of the test, and the name of its `it`.
 */
export type Mutation = {
  what: string;
  file: string;
  text: string;
  replacement: string;
  test: { file: string; name: string };
};

/** @throws Error if the text does not stand once in `source`, the text of the file. */
export function mutated(source: string, { file, text, replacement }: Mutation): string {
  const [before, after, ...more] = source.split(text);
  if (before === undefined || after === undefined || more.length > 0)
    throw new Error(
      `this has to stand once in ${file}, and stands there ${source.split(text).length - 1} times: ${text}`,
    );
  return before + replacement + after;
}

/** A pattern that matches only this text. (RegExp.escape is not in Node 22.) */
export function patternOf(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}

import { printable } from '../terminal.ts';

/** The columns of a line that can be broken. */
const width = 120;

/** A text as a literal. Invisible characters are escaped: they could make the code look like another. */
export function literal(text: string): string {
  const json = printable(JSON.stringify(text));
  if (text.includes("'") && !text.includes('"')) return json;
  return `'${json.slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
}

/** The name of a member, in quotes if it needs them. */
export function memberName(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : literal(name);
}

/** A comment before a declaration; no line for an empty text. */
export function comment(text: string, indent = ''): string[] {
  const lines = text.split(/\r\n|[\n\r\u2028\u2029]/).map((line) => printable(line).replaceAll('*/', '*\\/').trimEnd());
  const [first = '', ...rest] = lines;
  if (rest.length === 0) return first.trim() === '' ? [] : [`${indent}/** ${first.trim()} */`];
  return [`${indent}/**`, ...lines.map((line) => `${indent} * ${line}`.trimEnd()), `${indent} */`];
}

/** A union of types, on one line if it fits. */
export function declareUnion(head: string, parts: readonly string[]): string[] {
  return unionLines(`${head} =`, parts, '  ');
}

/** A member of an interface that is a union of types, on one line if it fits. */
export function memberUnion(name: string, parts: readonly string[]): string[] {
  return unionLines(`  ${name}:`, parts, '    ');
}

function unionLines(head: string, parts: readonly string[], indent: string): string[] {
  const line = `${head} ${parts.join(' | ')};`;
  if (line.length <= width) return [line];
  return [head, ...parts.map((part, at) => `${indent}| ${part}${at === parts.length - 1 ? ';' : ''}`)];
}

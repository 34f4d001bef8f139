type Json = Record<string, unknown>;

/**
 * How the editor may treat a value.
 * - `doc`: a document that it may edit; `null` is an empty document
 * - `foreign`: JSON of another shape, which is only shown
 * - `unknown`: a document with parts that the editor would lose, so it is only shown
 */
type Shape = { kind: 'doc'; doc: Json | null } | { kind: 'foreign' } | { kind: 'unknown'; parts: string[] };

/** All features of the editor. */
export const features = [
  'bold',
  'italic',
  'underline',
  'strike',
  'code',
  'link',
  'heading',
  'bulletList',
  'orderedList',
  'blockquote',
  'codeBlock',
  'horizontalRule',
  'image',
] as const;

/** A mark or node of rich text that a field can allow. */
export type Feature = (typeof features)[number];

/** The attributes that the editor keeps, of each node. */
const nodes: ReadonlyMap<string, readonly string[]> = new Map([
  ['doc', []],
  ['text', []],
  ['paragraph', []],
  ['hardBreak', []],
  ['listItem', []],
  ['heading', ['level']],
  ['bulletList', []],
  ['orderedList', ['start', 'type']],
  ['blockquote', []],
  ['codeBlock', ['language']],
  ['horizontalRule', []],
  ['image', ['src', 'alt', 'title', 'collection', 'id']],
]);

const marks: ReadonlyMap<string, readonly string[]> = new Map([
  ['bold', []],
  ['italic', []],
  ['underline', []],
  ['strike', []],
  ['code', []],
  ['link', ['href', 'target', 'rel', 'class', 'title', 'collection', 'id']],
]);

function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Finds out whether the editor can keep the whole of a value. */
export function shapeOf(value: unknown): Shape {
  if (value === null || value === undefined) return { kind: 'doc', doc: null };
  if (!isJson(value) || value.type !== 'doc' || !(value.content === undefined || Array.isArray(value.content)))
    return { kind: 'foreign' };
  const parts = new Set<string>();
  look(value, parts);
  return parts.size > 0 ? { kind: 'unknown', parts: [...parts].sort() } : { kind: 'doc', doc: value };
}

/** Collects the unknown parts of a node and of the nodes below it. */
function look(node: unknown, parts: Set<string>): void {
  if (!isJson(node) || typeof node.type !== 'string') {
    parts.add(JSON.stringify(node)?.slice(0, 40) ?? '');
    return;
  }
  lookAtMembers(node, nodes, parts);
  for (const mark of listOf(node.marks)) {
    if (isJson(mark)) lookAtMembers(mark, marks, parts);
  }
  for (const one of listOf(node.content)) look(one, parts);
}

function lookAtMembers(one: Json, known: ReadonlyMap<string, readonly string[]>, parts: Set<string>): void {
  const attributes = known.get(String(one.type));
  if (attributes === undefined) {
    parts.add(String(one.type));
    return;
  }
  for (const member of Object.keys(one)) {
    if (!['type', 'content', 'marks', 'attrs', 'text'].includes(member)) parts.add(`${one.type}.${member}`);
  }
  for (const [name, value] of Object.entries(isJson(one.attrs) ? one.attrs : {})) {
    if (value !== null && !attributes.includes(name)) parts.add(`${one.type}.${name}`);
  }
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The features that a document uses, whether they are allowed or not: the editor keeps them. */
export function usedFeatures(doc: Json | null): Set<Feature> {
  const used = new Set<Feature>();
  const add = (type: unknown) => {
    const feature = features.find((name) => name === type);
    if (feature !== undefined) used.add(feature);
  };
  const walk = (node: unknown) => {
    if (!isJson(node)) return;
    add(node.type);
    for (const mark of listOf(node.marks)) add(isJson(mark) ? mark.type : undefined);
    for (const one of listOf(node.content)) walk(one);
  };
  walk(doc);
  return used;
}

/** A document as it is stored: without the attributes that have no value. */
export function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isJson(value)) return value;
  const entries = Object.entries(value)
    .filter(([name, member]) => !(name === 'attrs' && isEmpty(member)))
    .map(([name, member]): [string, unknown] => [name, name === 'attrs' ? kept(member as Json) : withoutNulls(member)]);
  return Object.fromEntries(entries);
}

function kept(attributes: Json): Json {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== null && value !== undefined));
}

function isEmpty(attributes: unknown): boolean {
  return !isJson(attributes) || Object.keys(kept(attributes)).length === 0;
}

/**
 * The address of a link, as it is stored: `http:`, `https:`, `mailto:`, `tel:`, a path or a fragment; null for any
 * other.
 */
export function linkOf(text: string): string | null {
  const address = text.trim();
  // Browsers leave out control characters, and read a backslash as a slash.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the test looks for control characters
  if (address === '' || /[\u0000-\u001f\u007f]/.test(address)) return null;
  if (/^(?:https?:\/\/[^/\s]|mailto:\S|tel:\S|#|\/(?![/\\]))/i.test(address)) return address;
  if (/^[^\s@/:]+@[^\s@/:]+\.[^\s@/:]+$/.test(address)) return `mailto:${address}`;
  return /^[\p{L}\d-]+(?:\.[\p{L}\d-]+)+(?:[/?#]\S*)?$/u.test(address) ? `https://${address}` : null;
}

import type { ConstantJson } from '../config/define-admin.ts';

/** A document that a link or a picture of rich text stands for. */
export type RichTextTarget = { collection: string; id: string };

/** `resolve` gives the URL of a document; with null the link is left out, and its text stays. */
export type RichTextOptions = { resolve?: (target: RichTextTarget) => string | null | undefined };

type Value = ConstantJson | undefined;
type Node = { readonly [member: string]: ConstantJson };
type Resolve = NonNullable<RichTextOptions['resolve']>;

/** Deeper than any value that the service takes. */
const mostLevels = 100;

/**
 * The HTML of rich text as the editor of the admin UI writes it: ProseMirror JSON, `{ type: 'doc', content }`. All text
 * is escaped. Links and pictures lead only to `http:` and `https:`, links also to `mailto:`, `tel:`, `/…` and `#…`.
 * Nodes that are unknown give their content, marks that are unknown nothing; a value of another shape gives ''.
 */
export function richTextToHtml(value: unknown, { resolve = () => null }: RichTextOptions = {}): string {
  const doc = docOf(value);
  return doc ? htmlOf(doc, resolve, 0) : '';
}

/** The text of rich text, a line for each paragraph and heading; '' of a value of another shape. */
export function richTextToText(value: unknown): string {
  const doc = docOf(value);
  return doc ? linesOf(doc, 0).join('\n') : '';
}

function docOf(value: unknown): Node | null {
  const node = nodeOf(value as Value);
  return node?.type === 'doc' ? node : null;
}

function nodeOf(value: Value): Node | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Node) : null;
}

function nodesOf(value: Value): Node[] {
  if (!Array.isArray(value)) return [];
  return value.map(nodeOf).filter((node) => node !== null);
}

/** A member of its own, as a text; null where it has none. */
function textOf(node: Node | null, name: string): string | null {
  const value = node && Object.hasOwn(node, name) ? node[name] : null;
  return typeof value === 'string' ? value : null;
}

/** The whole number of an attribute, in these bounds. */
function numberOf(attrs: Node | null, name: string, [least, most]: readonly [number, number]): number {
  const value = attrs && Object.hasOwn(attrs, name) ? attrs[name] : null;
  return typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most ? value : least;
}

type Wrap = (inside: string, attrs: Node | null, resolve: Resolve) => string;

const wrap =
  (tag: string): Wrap =>
  (inside) =>
    `<${tag}>${inside}</${tag}>`;

const nodes: ReadonlyMap<string, Wrap> = new Map<string, Wrap>([
  ['paragraph', wrap('p')],
  ['bulletList', wrap('ul')],
  ['listItem', wrap('li')],
  ['blockquote', wrap('blockquote')],
  ['horizontalRule', () => '<hr>'],
  ['hardBreak', () => '<br>'],
  [
    'heading',
    (inside, attrs) => {
      const level = numberOf(attrs, 'level', [1, 6]);
      return `<h${level}>${inside}</h${level}>`;
    },
  ],
  [
    'orderedList',
    (inside, attrs) => {
      const start = numberOf(attrs, 'start', [1, 1_000_000]);
      return `<ol${start === 1 ? '' : ` start="${start}"`}>${inside}</ol>`;
    },
  ],
  [
    'codeBlock',
    (inside, attrs) => {
      const language = textOf(attrs, 'language');
      return `<pre><code${language ? attribute('class', `language-${language}`) : ''}>${inside}</code></pre>`;
    },
  ],
  [
    'image',
    (_inside, attrs, resolve) => {
      const src = addressOf(attrs, 'src', resolve);
      if (src === null || /^(?:mailto|tel):|^#/i.test(src)) return '';
      const title = textOf(attrs, 'title');
      return `<img${attribute('src', src)}${attribute('alt', textOf(attrs, 'alt') ?? '')}${title ? attribute('title', title) : ''}>`;
    },
  ],
]);

const marks: ReadonlyMap<string, Wrap> = new Map<string, Wrap>([
  ['bold', wrap('strong')],
  ['italic', wrap('em')],
  ['underline', wrap('u')],
  ['strike', wrap('s')],
  ['code', wrap('code')],
  [
    'link',
    (inside, attrs, resolve) => {
      const href = addressOf(attrs, 'href', resolve);
      return href === null ? inside : `<a${attribute('href', href)}>${inside}</a>`;
    },
  ],
]);

function htmlOf(node: Node, resolve: Resolve, level: number): string {
  if (level > mostLevels) return '';
  const text = node.type === 'text' ? textOf(node, 'text') : null;
  if (text !== null) return marked(escaped(text), nodesOf(node.marks), resolve);
  const inside = nodesOf(node.content)
    .map((one) => htmlOf(one, resolve, level + 1))
    .join('');
  const shown = nodes.get(String(node.type))?.(inside, nodeOf(node.attrs), resolve) ?? inside;
  return marked(shown, nodesOf(node.marks), resolve);
}

/** The first mark is the outermost. */
function marked(inside: string, given: readonly Node[], resolve: Resolve): string {
  return given.reduceRight((html, mark) => {
    return marks.get(String(mark.type))?.(html, nodeOf(mark.attrs), resolve) ?? html;
  }, inside);
}

/**
 * The address in an attribute, or that of the document which the attributes name; null for one that must not be
 * followed.
 */
function addressOf(attrs: Node | null, name: 'href' | 'src', resolve: Resolve): string | null {
  const [collection, id] = [textOf(attrs, 'collection'), textOf(attrs, 'id')];
  const found = collection !== null && id !== null ? resolve({ collection, id }) : textOf(attrs, name);
  return typeof found === 'string' && isSafe(found) ? found : null;
}

/** Browsers leave out control characters of an address, and read `\` as `/`: `/\x` and `//x` are other hosts. */
function isSafe(address: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return /^(?:https?:|mailto:|tel:|#|\/(?![/\\]))/i.test(address) && !/[\u0000-\u001f\u007f]/.test(address);
}

function attribute(name: string, value: string): string {
  return ` ${name}="${escaped(value)}"`;
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character);
}

/** The lines of a node; those of text beside each other are one. */
function linesOf(node: Node, level: number): string[] {
  if (level > mostLevels) return [];
  const lines: string[] = [];
  let line: string | null = null;
  for (const one of nodesOf(node.content)) {
    const text = one.type === 'text' ? textOf(one, 'text') : one.type === 'hardBreak' ? '\n' : null;
    if (text !== null) {
      line = (line ?? '') + text;
      continue;
    }
    if (line !== null) lines.push(line);
    line = null;
    lines.push(...linesOf(one, level + 1));
  }
  if (line !== null) lines.push(line);
  return lines;
}

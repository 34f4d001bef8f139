import type { ConstantJson } from '../config/define-admin.ts';

/** The document to which a link or image in rich text refers. */
export type RichTextTarget = { collection: string; id: string };

/** `resolve` returns the URL of a document. If it returns null, the link is left out and its text stays. */
export type RichTextOptions = { resolve?: (target: RichTextTarget) => string | null | undefined };

type Value = ConstantJson | undefined;
type Node = { readonly [member: string]: ConstantJson };
type Resolve = NonNullable<RichTextOptions['resolve']>;

/** Deeper than any value that the service accepts. */
const mostLevels = 100;

/**
 * Converts rich text from the editor of the admin application, which is ProseMirror JSON, `{ type: 'doc', content }`,
 * to HTML. All text is escaped. URLs of links and images must begin with `http:`, `https:` or `/`; those of links may
 * also begin with `mailto:`, `tel:` or `#`. An unknown node is replaced by its content, and an unknown mark is left
 * out. A value of another shape gives ''.
 */
export function richTextToHtml(value: unknown, { resolve = () => null }: RichTextOptions = {}): string {
  const doc = docOf(value);
  return doc ? htmlOf(doc, resolve, 0) : '';
}

/** Converts rich text to plain text, with a line for each paragraph and heading. A value of another shape gives ''. */
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

/** An own member that is a text; null without one. */
function textOf(node: Node | null, name: string): string | null {
  const value = node && Object.hasOwn(node, name) ? node[name] : null;
  return typeof value === 'string' ? value : null;
}

/** The value of an attribute that is a whole number within the bounds, else the lower bound. */
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

/** Wraps a text in its marks, the first mark outermost. */
function marked(inside: string, given: readonly Node[], resolve: Resolve): string {
  return given.reduceRight((html, mark) => {
    return marks.get(String(mark.type))?.(html, nodeOf(mark.attrs), resolve) ?? html;
  }, inside);
}

/** The URL in an attribute, or the URL of the document that the attributes name; null if the URL is not safe. */
function addressOf(attrs: Node | null, name: 'href' | 'src', resolve: Resolve): string | null {
  const [collection, id] = [textOf(attrs, 'collection'), textOf(attrs, 'id')];
  const found = collection !== null && id !== null ? resolve({ collection, id }) : textOf(attrs, name);
  return typeof found === 'string' && isSafe(found) ? found : null;
}

/** Browsers drop control characters from a URL and read `\` as `/`, so `/\x` and `//x` lead to other hosts. */
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

/** The lines of a node. Adjacent text nodes make one line. */
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

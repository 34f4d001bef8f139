/** The kinds of documents made of tags. */
type MarkupType = 'text/html' | 'application/xhtml+xml' | 'image/svg+xml' | 'application/xml';

/** The beginnings of HTML in the MIME Sniffing Standard (section 7.1), a few more ends of a tag's name allowed. */
const htmlTag = /<(html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p)[\s/>]/iy;
const svgTag = /<([\p{L}_][\p{L}\d_.-]*:)?svg[\s/>]/uy;
const htmlRoot = /<([\p{L}_][\p{L}\d_.-]*:)?html[\s/>]/uy;
const blank = /[\t\n\f\r ]*/y;
const xmlDeclaration = /<\?xml[\t\n\r ]/y;
const doctype = /<!doctype[\t\n\f\r ]+([^\t\n\f\r >[]+)/iy;

/** The first bytes of a file as text: by its byte order mark, else one character a byte, which is enough for tags. */
export function headText(head: Buffer): string {
  if (head[0] === 0xff && head[1] === 0xfe) return new TextDecoder('utf-16le').decode(head);
  if (head[0] === 0xfe && head[1] === 0xff) return new TextDecoder('utf-16be').decode(head);
  return head.toString('latin1', hasMark(head) ? 3 : 0);
}

/** True for bytes that begin with the mark of a text in UTF-8. */
export function hasMark(head: Buffer): boolean {
  return head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf;
}

/** The type of a document of tags; null when a text does not begin like one. */
export function markupOf(text: string): MarkupType | null {
  const prolog = readProlog(text);
  if (prolog.doctype === 'html') return prolog.isXml ? 'application/xhtml+xml' : 'text/html';
  if (matches(svgTag, text, prolog.end) || prolog.doctype === 'svg' || prolog.doctype?.endsWith(':svg'))
    return 'image/svg+xml';
  if (prolog.isXml) return matches(htmlRoot, text, prolog.end) ? 'application/xhtml+xml' : 'application/xml';
  return prolog.hasComment || matches(htmlTag, text, prolog.end) ? 'text/html' : null;
}

/** The first tag of an SVG, `<svg …>`, at most `most` characters of it; '' if the text has no such tag. */
export function svgTagOf(text: string, most: number): string {
  const { end } = readProlog(text);
  return matches(svgTag, text, end) ? text.slice(end, end + most) : '';
}

/** The prolog before the first tag: an XML declaration, comments, instructions, a document type. */
type Prolog = { isXml: boolean; hasComment: boolean; doctype: string | null; end: number };

function readProlog(text: string): Prolog {
  const isXml = matches(xmlDeclaration, text, skipBlanks(text, 0));
  const prolog: Prolog = { isXml, hasComment: false, doctype: null, end: 0 };
  for (;;) {
    const start = skipBlanks(text, prolog.end);
    prolog.end = start;
    if (text.startsWith('<!--', start)) {
      prolog.hasComment = true;
      prolog.end = after(text, '-->', start + 4);
    } else if (text.startsWith('<?', start)) {
      prolog.end = after(text, '?>', start + 2);
    } else if (matches(doctype, text, start) && prolog.doctype === null) {
      doctype.lastIndex = start;
      prolog.doctype = doctype.exec(text)?.[1]?.toLowerCase() ?? '';
      prolog.end = afterDoctype(text, start + 2);
    } else {
      return prolog;
    }
  }
}

function matches(pattern: RegExp, text: string, at: number): boolean {
  pattern.lastIndex = at;
  return pattern.test(text);
}

function skipBlanks(text: string, at: number): number {
  blank.lastIndex = at;
  blank.test(text);
  return blank.lastIndex;
}

/** The index after an ending; the length of the text if it does not occur. */
function after(text: string, ending: string, from: number): number {
  const at = text.indexOf(ending, from);
  return at < 0 ? text.length : at + ending.length;
}

/** The place behind a document type, which may declare things between `[` and `]`, in quotes and beside comments. */
function afterDoctype(text: string, from: number): number {
  let isInside = false;
  let at = from;
  while (at < text.length) {
    const letter = text[at];
    if (letter === '>' && !isInside) return at + 1;
    if (letter === '[') isInside = true;
    if (letter === ']') isInside = false;
    if (letter === '"' || letter === "'") at = after(text, letter, at + 1);
    else if (text.startsWith('<!--', at)) at = after(text, '-->', at + 4);
    else at += 1;
  }
  return at;
}

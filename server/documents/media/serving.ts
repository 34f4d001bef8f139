import { canonicalType } from '../../files/inspection/mime-types.ts';

/**
 * The rights of a document that a browser opens: it is shown, with its own styles and the images inside it, in an
 * origin of its own, without scripts, forms, frames or requests. As `<img>` an SVG does not even that.
 */
const sandbox = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:";

/** Types of which a browser makes a document that may hold scripts: HTML and every XML (XHTML, SVG, XSLT). */
const active = /^text\/html$|[/+]xml$/;

/**
 * Types that a browser shows or plays, or else saves. A PDF has no sandbox: browsers run its scripts in a viewer of
 * their own, which does not start in one.
 */
const shown = /^(image|audio|video)\/|^(text\/plain|text\/vtt|application\/pdf)$/;

/**
 * How a file of a type may be served: with which content-type, shown or saved, and with which CSP (null: none is
 * needed).
 */
export function servingOf(mimeType: string): {
  contentType: string;
  disposition: 'inline' | 'attachment';
  policy: string | null;
} {
  const type = canonicalType(mimeType);
  if (active.test(type)) {
    // XML says of itself in which characters it is; for HTML a browser would guess.
    const contentType = type === 'text/html' ? `${type}; charset=utf-8` : type;
    return { contentType, disposition: 'inline', policy: sandbox };
  }
  const contentType = type.startsWith('text/') ? `${type}; charset=utf-8` : type;
  return { contentType, disposition: shown.test(type) ? 'inline' : 'attachment', policy: null };
}

import { canonicalType } from '../../files/inspection/mime-types.ts';

/**
 * The policy of a document that a browser opens: it is shown with its inline styles and images, in an opaque origin,
 * without scripts, forms, frames or requests. An SVG in `<img>` may do even less.
 */
const sandbox = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:";

/** The types that a browser opens as a document that may have scripts: HTML and every XML (XHTML, SVG, XSLT). */
const active = /^text\/html$|[/+]xml$/;

/**
 * The types that a browser shows, plays or saves. A PDF gets no sandbox: browsers run its scripts in their viewer,
 * which does not start in a sandbox.
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
    // XML declares its charset; for HTML a browser would guess.
    const contentType = type === 'text/html' ? `${type}; charset=utf-8` : type;
    return { contentType, disposition: 'inline', policy: sandbox };
  }
  const contentType = type.startsWith('text/') ? `${type}; charset=utf-8` : type;
  return { contentType, disposition: shown.test(type) ? 'inline' : 'attachment', policy: null };
}

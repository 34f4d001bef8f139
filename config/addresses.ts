/** The most characters of an address (RFC 5321, section 4.5.3.1.3, less the brackets around it). */
export const maxEmailLength = 254;

/** The one form of an account's e-mail: without white space around it, in lower case. */
export function normalEmail(text: string): string {
  return text.trim().toLowerCase();
}

/** True for a text without quotes, white space, control characters and what else cannot be seen. */
export function isPlainText(text: string): boolean {
  return !/[\p{Cc}\p{Cf}\p{Cs}\p{Z}"]/u.test(text);
}

/**
 * True for a text in which an encoded word begins, `=?utf-8?q?` (RFC 2047, section 2): mail systems that decode it send
 * elsewhere.
 */
export function hasEncodedWord(text: string): boolean {
  return /=\?[^?]+\?[bq]\?/i.test(text);
}

/** Whatever a text holds, as an address it must not become a second recipient, a comment or another command. */
export function isOneAddress(text: string): boolean {
  const [local, domain, ...rest] = text.split('@');
  if (!local || !domain || rest.length > 0) return false;
  return isPlainText(text) && !hasEncodedWord(text) && !/[(),:;<>[\\\]]/.test(text);
}

/** The sender of mail; without a name, `name` is ''. */
export type Sender = { name: string; address: string };

/**
 * Reads `Ada <ada@example.org>`, `"Lovelace, Ada" <ada@example.org>` or `ada@example.org`; undefined for everything
 * else.
 */
export function readSender(text: string): Sender | undefined {
  const { plain = '', quoted = '', address = text.trim() } = namedForm.exec(text.trim())?.groups ?? {};
  return isOneAddress(address) ? { name: quoted.replace(/\\(.)/gsu, '$1') || plain.trim(), address } : undefined;
}

/**
 * Outside quotes, what `plain` leaves out would make a group, a comment or a second address of it (RFC 5322, section
 * 3.4).
 */
const namedForm =
  /^(?:(?<plain>[^"<>()[\]\\,;:@\p{Cc}]*)|"(?<quoted>(?:[^"\\\p{Cc}]|\\[^\p{Cc}])*)" *)<(?<address>[^<>]+)>$/u;

/**
 * True for an SMTP URL; one that nodemailer would misread is refused, such as a password with a bare `/`, `?` or `#`.
 */
export function isSmtpUrl(text: string): boolean {
  // The parser would leave out line breaks and tabs without a word.
  if (/[\s\p{Cc}]/u.test(text) || !URL.canParse(text)) return false;
  const { protocol, hostname, username, password, pathname, search, hash } = new URL(text);
  if (!['smtp:', 'smtps:'].includes(protocol) || hostname === '' || hash !== '') return false;
  if (!['', '/'].includes(pathname) || search.includes('@')) return false;
  return isDecodable(username) && isDecodable(password);
}

function isDecodable(text: string): boolean {
  try {
    return decodeURIComponent(text) !== undefined;
  } catch {
    return false;
  }
}

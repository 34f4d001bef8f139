/** The maximum length of an address in characters (RFC 5321, section 4.5.3.1.3, without the brackets around it). */
export const maxEmailLength = 254;

/** The stored form of an account's e-mail: in lower case, without white space around it. */
export function normalEmail(text: string): string {
  return text.trim().toLowerCase();
}

/** True for a text without quotes, white space, control characters and other invisible characters. */
export function isPlainText(text: string): boolean {
  return !/[\p{Cc}\p{Cf}\p{Cs}\p{Z}"]/u.test(text);
}

/**
 * True for a text that contains the start of an encoded word, `=?utf-8?q?` (RFC 2047, section 2). A mail system that
 * decodes the word sends the mail to another address.
 */
export function hasEncodedWord(text: string): boolean {
  return /=\?[^?]+\?[bq]\?/i.test(text);
}

/** True for exactly one address, which no mail system can read as a second recipient, a comment or another command. */
export function isOneAddress(text: string): boolean {
  const [local, domain, ...rest] = text.split('@');
  if (!local || !domain || rest.length > 0) return false;
  return isPlainText(text) && !hasEncodedWord(text) && !/[(),:;<>[\\\]]/.test(text);
}

/** The sender of mail. `name` is '' if the sender has no name. */
export type Sender = { name: string; address: string };

/**
 * Reads `Ada <ada@example.org>`, `"Lovelace, Ada" <ada@example.org>` or `ada@example.org`; undefined for any other
 * text.
 */
export function readSender(text: string): Sender | undefined {
  const { plain = '', quoted = '', address = text.trim() } = namedForm.exec(text.trim())?.groups ?? {};
  return isOneAddress(address) ? { name: quoted.replace(/\\(.)/gsu, '$1') || plain.trim(), address } : undefined;
}

/**
 * Outside quotes, the characters that `plain` excludes would turn the text into a group, a comment or a second address
 * (RFC 5322, section 3.4).
 */
const namedForm =
  /^(?:(?<plain>[^"<>()[\]\\,;:@\p{Cc}]*)|"(?<quoted>(?:[^"\\\p{Cc}]|\\[^\p{Cc}])*)" *)<(?<address>[^<>]+)>$/u;

/**
 * True for an SMTP URL. False for a URL that nodemailer would misread, for example because of a bare `/`, `?` or `#` in
 * the password.
 */
export function isSmtpUrl(text: string): boolean {
  // The parser drops line breaks and tabs silently.
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

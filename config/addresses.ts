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

/** The address in `Ada <ada@example.org>` or `ada@example.org`; undefined for what is neither, or more than one. */
export function addressIn(sender: string): string | undefined {
  // Outside quotes these would make a group, a comment or a second address of it.
  const match = /^(?:(?:[^"<>()[\]\\,;:@\p{Cc}]*|"[^"\\\p{Cc}]*" *)<([^<>]+)>|([^<>]+))$/u.exec(sender.trim());
  return match?.[1] ?? match?.[2];
}

/** True for an SMTP URL; what nodemailer would misread is none, such as a password with a bare `/`, `?` or `#`. */
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

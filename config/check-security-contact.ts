import { isOneAddress, isPlainText } from './addresses.ts';
import { at, passes, type Rule, report, type Spot } from './problems.ts';
import { show } from './suggest.ts';

const oneOrMore: Rule<string | unknown[]> = {
  passes: (value): value is string | unknown[] => typeof value === 'string' || Array.isArray(value),
  must: 'be a mailto:, https: or tel: URI, or a list of these',
};

/**
 * Checks the contacts for reports of vulnerabilities (RFC 9116, section 2.5.3), most preferred first; [] without any.
 */
export function checkSecurityContact(spot: Spot): readonly string[] {
  if (!passes(spot, oneOrMore)) return [];
  if (typeof spot.value === 'string') {
    if (!isContact(spot.value)) report(spot, problemOf(spot.value));
    return [spot.value];
  }
  const contacts = spot.value;
  if (contacts.length === 0) report(spot, 'must not be empty');
  for (const [index, contact] of contacts.entries()) {
    const item = at(spot, index);
    if (!isContact(contact)) report(item, problemOf(contact));
    else if (contacts.indexOf(contact) < index) report(item, `${show(contact)} is listed twice`);
  }
  return contacts.filter(isContact);
}

/** True for a URI that fits on one line of the file: no character in it may end the line. */
function isContact(value: unknown): value is string {
  if (typeof value !== 'string' || !isPlainText(value) || !URL.canParse(value)) return false;
  const { protocol, pathname, username, password } = new URL(value);
  if (protocol === 'mailto:') return isOneAddress(pathname);
  if (protocol === 'tel:') return /^tel:\+?\d[\d().-]*(;[\w.=+-]+)*$/i.test(value);
  return /^https:\/\//i.test(value) && username === '' && password === '';
}

function problemOf(value: unknown): string {
  const meant = typeof value === 'string' ? uriIn(value.trim()) : undefined;
  const hint = meant === undefined ? '' : `; did you mean ${show(meant)}?`;
  return `must be a mailto:, https: or tel: URI such as "mailto:security@example.org", got ${show(value)}${hint}`;
}

/** The URI that is probably meant by a text without a scheme, or with the scheme `http:`. */
function uriIn(text: string): string | undefined {
  const meant = [
    ...(isOneAddress(text) ? [`mailto:${text}`] : []),
    ...(/^http:/i.test(text) ? [text.replace(/^http:/i, 'https:')] : []),
    ...(/^\+\d/.test(text) ? [`tel:${text.replaceAll(' ', '-')}`] : []),
    ...(/^[\w-]+(\.[\w-]+)+(\/|$)/.test(text) ? [`https://${text}`] : []),
    text,
  ];
  return meant.find(isContact);
}

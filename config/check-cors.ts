import { at, passes, type Rule, report, rules, type Spot } from './problems.ts';
import { show } from './suggest.ts';

const listOfOrigins: Rule<unknown[]> = { ...rules.list, must: "be a list of origins, or ['*'] for any" };

/**
 * Apps in a shell of their own have another scheme: `capacitor://localhost`. Browsers give those in lower case as well.
 */
const otherOrigin = /^[a-z][a-z0-9+.-]*:\/\/[a-z0-9._-]+(:\d{1,5})?$/;

/** Checks the origins whose pages may call the service; none where it is left out. `*` is any. */
export function checkCors(spot: Spot): readonly string[] {
  if (spot.value === false || !passes(spot, listOfOrigins)) return [];
  const { value: input } = spot;
  for (const [index, origin] of input.entries()) {
    const item = at(spot, index);
    if (origin === '*') {
      if (input.length > 1) report(item, "'*' is any origin: it must be the only one");
    } else if (input.indexOf(origin) < index) report(item, `${show(origin)} is listed twice`);
    else if (!isOrigin(origin)) report(item, problemOf(origin));
  }
  return input.filter((origin) => typeof origin === 'string');
}

/** True for an origin as browsers send it: nothing else is ever equal to one. */
function isOrigin(value: unknown): boolean {
  if (typeof value !== 'string') return false;
  return isWeb(value) ? originIn(value) === value && !value.includes('*') : otherOrigin.test(value);
}

function problemOf(value: unknown): string {
  if (value === 'null') return 'must not be "null": pages of any author have that origin';
  // A page's origin is looked up as it is: nothing would ever match.
  if (typeof value === 'string' && value.includes('*')) return `must name one origin, got the pattern ${show(value)}`;
  const meant = typeof value === 'string' ? originIn(value.includes('//') ? value : `https://${value}`) : undefined;
  const hint = meant === undefined ? '' : `; did you mean ${show(meant)}?`;
  return `must be an origin such as "https://app.example.org", got ${show(value)}${hint}`;
}

/** The origin in a text, in the one form that browsers send; undefined without one. */
function originIn(text: string): string | undefined {
  return isWeb(text) ? URL.parse(text)?.origin : undefined;
}

function isWeb(text: string): boolean {
  return /^https?:\/\//i.test(text);
}

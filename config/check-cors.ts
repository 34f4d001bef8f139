import { at, passes, type Rule, report, rules, type Spot } from './problems.ts';
import { show } from './suggest.ts';

const listOfOrigins: Rule<unknown[]> = { ...rules.list, must: "be a list of origins, or ['*'] for any" };

/**
 * Apps in a native shell have a scheme of their own: `capacitor://localhost`. Browsers send these origins in lower case
 * too.
 */
const otherOrigin = /^[a-z][a-z0-9+.-]*:\/\/[a-z0-9._-]+(:\d{1,5})?$/;

/** Checks the origins whose pages may call the service; [] if `cors` is left out or false. `*` is any origin. */
export function checkCors(spot: Spot): readonly string[] {
  if (spot.value === false || !passes(spot, listOfOrigins)) return [];
  const { value: input } = spot;
  for (const [index, origin] of input.entries()) {
    const item = at(spot, index);
    if (origin === '*') {
      if (input.length > 1) report(item, "'*' allows any origin, so it must be the only entry");
    } else if (input.indexOf(origin) < index) report(item, `${show(origin)} is listed twice`);
    else if (!isOrigin(origin)) report(item, problemOf(origin));
  }
  return input.filter((origin) => typeof origin === 'string');
}

/** True for an origin in the form that browsers send. No other text would ever match. */
function isOrigin(value: unknown): boolean {
  if (typeof value !== 'string') return false;
  return isWeb(value) ? originIn(value) === value && !value.includes('*') : otherOrigin.test(value);
}

function problemOf(value: unknown): string {
  if (value === 'null') return 'must not be "null": any page can have this origin';
  // Origins are compared as texts, so a pattern would never match.
  if (typeof value === 'string' && value.includes('*')) return `must name one origin, got the pattern ${show(value)}`;
  const meant = typeof value === 'string' ? originIn(value.includes('//') ? value : `https://${value}`) : undefined;
  const hint = meant === undefined ? '' : `; did you mean ${show(meant)}?`;
  return `must be an origin such as "https://app.example.org", got ${show(value)}${hint}`;
}

/** The origin of a URL, in the form that browsers send; undefined for a text that is not a web URL. */
function originIn(text: string): string | undefined {
  return isWeb(text) ? URL.parse(text)?.origin : undefined;
}

function isWeb(text: string): boolean {
  return /^https?:\/\//i.test(text);
}

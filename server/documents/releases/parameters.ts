import { inQuery, invalidField } from '../../../config/errors.ts';
import { didYouMean, show, showAll } from '../../../config/suggest.ts';
import { readDatetime } from '../../../config/times.ts';
import type { ReleaseState } from '../../../projections/tables/releases.ts';
import { pageParameters } from '../../queries/pages.ts';
import { checked, type Parameter, text } from '../../queries/parameters.ts';

const states: readonly ReleaseState[] = ['open', 'scheduled', 'published', 'failed', 'archived'];
const statesForm = new RegExp(`^(${states.join('|')})(,(${states.join('|')}))*$`);

/** The query of the list of releases. */
export const releaseParameters = {
  ...pageParameters,
  state: checked(text('A state, or several with commas between.', { pattern: statesForm }), requireStates),
  from: instant('The earliest time of a release, with a zone.'),
  to: instant('The latest time of a release, with a zone.'),
};

/** The states that a list is about; null: all. */
export function statesOf(given: string | null): ReleaseState[] | null {
  return given === null ? null : states.filter((state) => given.split(',').includes(state));
}

function requireStates(given: string, name: string): void {
  const wrong = given.split(',').find((word) => !states.some((state) => state === word));
  if (wrong === undefined) return;
  throw invalidField(
    inQuery(name, 'not_allowed', { allowed: states }),
    `must be one of ${showAll(states)}, or several with commas between, got ${show(wrong)}${didYouMean(wrong, states)}`,
  );
}

/** An instant, which may be in the future, in milliseconds since the epoch; null if it is missing. */
function instant(description: string): Parameter<number | null> {
  return {
    told: { description, schema: { type: 'string', format: 'date-time' } },
    read(given, name) {
      if (given === undefined) return null;
      // The "+" of a zone comes as a space if it is not encoded.
      const time = typeof given === 'string' ? readDatetime(given.replace(/ (?=\d\d:\d\d$)/, '+')) : undefined;
      if (time !== undefined) return Date.parse(time);
      const problem = `must be a time with a zone like "2026-12-24T18:00:00Z", got ${show(given)}`;
      throw invalidField(inQuery(name, 'format'), problem);
    },
  };
}

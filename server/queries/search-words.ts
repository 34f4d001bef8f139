import { invalidField } from '../../config/errors.ts';
import { readTerms, type Term } from '../../projections/tables/words.ts';
import { type Parameter, text } from './parameters.ts';

const mostCharacters = 200;

/**
 * The words of a search; null where the parameter is missing. Without a letter or a digit they are none, which nothing
 * holds.
 */
export function searchWords(description: string): Parameter<Term[] | null>;
export function searchWords(description: string, form: { isRequired: true }): Parameter<Term[]>;
export function searchWords(description: string, form: { isRequired?: true } = {}): Parameter<Term[] | null> {
  const { told, read } = form.isRequired ? text(description, { isRequired: true }) : text(description);
  const schema = { ...told.schema, maxLength: mostCharacters };
  return {
    told: { ...told, schema },
    read(given, name, context) {
      const value = read(given, name, context);
      if (value === null) return null;
      // Of the characters that a JSON schema counts, a pair of surrogates is one.
      if ([...value].length > mostCharacters) {
        throw invalidField(name, `must have at most ${mostCharacters} characters, got ${[...value].length}`);
      }
      return readTerms(value);
    },
  };
}

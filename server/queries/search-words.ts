import { inQuery, invalidField } from '../../config/errors.ts';
import { readTerms, type SearchTerm } from '../../projections/tables/words.ts';
import { type Parameter, text } from './parameters.ts';

const mostCharacters = 200;

/**
 * The words of a search; null if the parameter is missing. A text without a letter or a digit has no words, and no
 * document matches it.
 */
export function searchWords(description: string): Parameter<SearchTerm[] | null>;
export function searchWords(description: string, form: { isRequired: true }): Parameter<SearchTerm[]>;
export function searchWords(description: string, form: { isRequired?: true } = {}): Parameter<SearchTerm[] | null> {
  const { told, read } = form.isRequired ? text(description, { isRequired: true }) : text(description);
  const schema = { ...told.schema, maxLength: mostCharacters };
  return {
    told: { ...told, schema },
    read(given, name, context) {
      const value = read(given, name, context);
      if (value === null) return null;
      // A JSON schema counts a surrogate pair as one character.
      if ([...value].length > mostCharacters) {
        throw invalidField(
          inQuery(name, 'max_length', { limit: mostCharacters }),
          `must have at most ${mostCharacters} characters, got ${[...value].length}`,
        );
      }
      return readTerms(value);
    },
  };
}

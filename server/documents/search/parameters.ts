import { type DomainError, inQuery, invalidFields } from '../../../config/errors.ts';
import { didYouMean, show, showAll } from '../../../config/suggest.ts';
import { pageLimits } from '../../queries/limits.ts';
import { count, type Parameter, text } from '../../queries/parameters.ts';
import { searchWords } from '../../queries/search-words.ts';

/** The query of a search. */
export const searchParameters = {
  q: searchWords(
    'The words that a document must contain. Case and accents do not matter, the last word may be the beginning of a ' +
      'longer one, and words in quotation marks must follow one another.',
    { isRequired: true },
  ),
  limit: count(pageLimits, 'How many documents'),
  collections: slugs(),
};

/** Slugs, separated by commas; null if the parameter is missing. */
function slugs(): Parameter<string[] | null> {
  const { told, read } = text(
    'The collections to search, separated by commas; by default all that the caller may read.',
  );
  return {
    told,
    read(given, name, context) {
      return read(given, name, context)?.split(',') ?? null;
    },
  };
}

/** The refusal of slugs of no collection. @param allowed the slugs that the caller may know. */
export function unknownCollections(unknown: readonly string[], allowed: readonly string[]): DomainError {
  const hint = allowed.length > 0 ? `; allowed: ${showAll(allowed)}` : '';
  return invalidFields(
    [...new Set(unknown)].slice(0, 10).map((slug) => {
      return {
        ...inQuery('collections', 'not_allowed'),
        message: `collections: ${show(slug)} is not a collection${didYouMean(slug, allowed)}${hint}`,
      };
    }),
  );
}

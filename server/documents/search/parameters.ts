import { invalidFields } from '../../../config/errors.ts';
import { didYouMean, show, showAll } from '../../../config/suggest.ts';
import { count, type Parameter, text } from '../../queries/parameters.ts';
import { searchWords } from '../../queries/search-words.ts';

/** The query of a search in collections of these slugs. */
export function searchParameters(slugs: readonly string[]) {
  return {
    q: searchWords(
      'The words that a document must hold. Case and accents count for nothing, the last word may be the beginning of one, and ' +
        'words in quotation marks stand one after the other.',
      { isRequired: true },
    ),
    limit: count({ least: 1, most: 100, otherwise: 20 }, 'How many documents'),
    collections: slugsIn(slugs),
  };
}

/** Slugs of collections, separated by commas; null where the parameter is missing. */
function slugsIn(slugs: readonly string[]): Parameter<string[] | null> {
  const { told, read } = text(
    'The collections that are searched, separated by commas; default: all that the caller may read.',
  );
  return {
    told,
    read(given, name, context) {
      const value = read(given, name, context);
      if (value === null) return null;
      const named = [...new Set(value.split(','))];
      const unknown = named.filter((slug) => !slugs.includes(slug));
      if (unknown.length === 0) return named;
      const allowed = `; allowed: ${showAll(slugs)}`;
      throw invalidFields(
        unknown.slice(0, 10).map((slug) => {
          return {
            field: name,
            message: `${name}: ${show(slug)} is not a collection${didYouMean(slug, slugs)}${allowed}`,
          };
        }),
      );
    },
  };
}

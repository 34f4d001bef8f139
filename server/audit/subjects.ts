import { accountStream, documentStream, globalStream, inviteStream } from '../../events/facts/catalogue.ts';
import type { CollectionNames } from '../../events/service-events/categories.ts';
import { categories } from '../../projections/tables/audit.ts';

/** The kinds of streams that routes name. */
export type StreamKind = 'document' | 'global' | 'account' | 'invitation';

type Params = { slug?: string; id?: string };

/** The stream of each, by the names in the path; null for names that no stream of this kind can have. */
export const streamOf: Record<StreamKind, (params: Params, names: CollectionNames) => string | null> = {
  document: ({ slug = '', id = '' }, { categoryFor }) => {
    return isName(slug) && isName(id) && !categories.includes(slug) ? documentStream(categoryFor(slug), id) : null;
  },
  global: ({ slug = '' }) => (isName(slug) ? globalStream(slug) : null),
  account: ({ slug = '', id = '' }, { categoryFor }) => {
    return isName(slug) && isName(id) ? accountStream(categoryFor(slug), id) : null;
  },
  invitation: ({ slug = '', id = '' }, { categoryFor }) => {
    return isName(slug) && isName(id) ? inviteStream(categoryFor(slug), id) : null;
  },
};

/** A slash would make the name of something else out of it. */
function isName(text: string): boolean {
  return text !== '' && !text.includes('/');
}

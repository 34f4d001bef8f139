import { accountStream, documentStream, globalStream, inviteStream } from '../../events/catalogue.ts';
import { categories } from '../../projections/audit.ts';

/** The kinds of streams that routes name. */
export type Subject = 'document' | 'global' | 'account' | 'invitation';

type Names = { slug?: string; id?: string };

/** The stream of each, by the names in the path; null for names that no stream of this kind can have. */
export const streamOf: Record<Subject, (names: Names) => string | null> = {
  document: ({ slug = '', id = '' }) => {
    return isName(slug) && isName(id) && !categories.includes(slug) ? documentStream(slug, id) : null;
  },
  global: ({ slug = '' }) => (isName(slug) ? globalStream(slug) : null),
  account: ({ slug = '', id = '' }) => (isName(slug) && isName(id) ? accountStream(slug, id) : null),
  invitation: ({ slug = '', id = '' }) => (isName(slug) && isName(id) ? inviteStream(slug, id) : null),
};

/** A slash would make the name of something else out of it. */
function isName(text: string): boolean {
  return text !== '' && !text.includes('/');
}

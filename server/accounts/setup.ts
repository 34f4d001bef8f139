import type { Documents } from '../../projections/documents.ts';
import type { App } from '../app.ts';

/**
 * What the setup token of an empty collection is made for: this emptiness, so that it opens nothing when there were users
 * and all of them are gone.
 */
export function setupTokenId({ accounts, collections }: Pick<App, 'accounts' | 'collections'>, slug: string): string {
  return `${accounts.setupVersion(slug)} ${collections.get(slug)?.documents.newestChange()}`;
}

/** Whether a collection has a user: then none is the first. */
export function hasUsers({ documents }: { documents: Pick<Documents, 'find'> }): boolean {
  return documents.find({ and: [] }) !== null;
}

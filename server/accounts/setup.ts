import type { Documents } from '../../projections/documents.ts';
import type { App } from '../app.ts';

/**
 * The id in the setup token of an empty collection. It changes with each user, so an old token opens nothing after all users
 * were deleted.
 */
export function setupTokenId({ accounts, collections }: Pick<App, 'accounts' | 'collections'>, slug: string): string {
  return `${accounts.setupVersion(slug)} ${collections.get(slug)?.documents.newestChange()}`;
}

/** Whether a collection has a user: after that, there is no first user. */
export function hasUsers({ documents }: { documents: Pick<Documents, 'find'> }): boolean {
  return documents.find({ and: [] }) !== null;
}

import type { Category } from '../../config/schema.ts';
import type { Documents } from '../../projections/query/documents.ts';
import type { App } from '../app.ts';

/**
 * The id in the setup token of an empty collection. It changes with each user, so that an old token is void after all
 * users were deleted.
 */
export function setupTokenId(
  { accounts, byCategory }: Pick<App, 'accounts' | 'byCategory'>,
  category: Category,
): string {
  return `${accounts.setupVersion(category)} ${byCategory.get(category)?.documents.newestChange()}`;
}

/** Whether a collection has a user: then there is no first user any more. */
export function hasUsers({ documents }: { documents: Pick<Documents, 'find'> }): boolean {
  return documents.find({ and: [] }) !== null;
}

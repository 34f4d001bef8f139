import type { Documents } from '../../projections/documents.ts';
import type { App } from '../app.ts';

/** What the setup token of a collection is made for: one setup, so that it opens nothing when all users are gone later. */
export function setupTokenId({ accounts }: Pick<App, 'accounts'>, slug: string): string {
  return String(accounts.setupVersion(slug));
}

/** Whether a collection has a user: then none is the first. */
export function hasUsers({ documents }: { documents: Pick<Documents, 'find'> }): boolean {
  return documents.find({ and: [] }) !== null;
}

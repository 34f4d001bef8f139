import type { User } from '../../config/model.ts';
import type { App } from '../app.ts';
import { populateAll } from './populate.ts';

/**
 * A user as rules, hooks and mails see it (contract, section 2.2): the document as it is stored, which never holds a
 * password, its relations followed to `auth.depth` without asking the rights of anybody; null when there is no such user.
 */
export function readUser(app: Pick<App, 'collections'>, slug: string, id: string): User | null {
  const target = app.collections.get(slug);
  const auth = target?.model.auth;
  const text = auth ? target.documents.text(id) : null;
  if (!target || !auth || text === null) return null;
  const document = JSON.parse(text);
  const whole = auth.depth > 0 ? populateAll({ app, target }, document, auth.depth) : document;
  return { ...whole, id, collection: slug };
}

import type { JsonObject } from '../../config/schema.ts';
import type { App } from '../app.ts';
import type { AuthTarget } from '../callers/sessions.ts';
import { type AccountState, accountStateOf } from './account-state.ts';
import { sessionsOf } from './session-answers.ts';

/** A user as the operator sees them; `sessions` is the number of sessions that have not ended. */
export type ListedUser = AccountState & {
  id: string;
  email: string | null;
  collection: string;
  createdAt: string;
  sessions: number;
};

const atOnce = 100;
const oldestFirst = [{ steps: [], leaf: { name: 'id', kind: 'text' }, isDescending: false }] as const;
const members = new Set(['id', 'email', 'createdAt']);

/**
 * A page of the users of a collection, oldest first: those after an id; null for the first page. The `after` of the
 * answer is for the next page, null on the last one.
 */
export async function listedUsers(
  app: App,
  target: AuthTarget,
  after: string | null,
): Promise<{ users: ListedUser[]; after: string | null }> {
  const from = { mark: after === null ? null : [after], isEach: false };
  const request = { where: null, sort: oldestFirst, limit: atOnce, page: 1, after: from, only: members };
  const { texts, hasNext } = target.documents.list({ ...request, count: 'none' });
  const users = await Promise.all(texts.map((text) => listed(app, target, JSON.parse(text))));
  return { users, after: hasNext ? (users.at(-1)?.id ?? null) : null };
}

async function listed(app: App, target: AuthTarget, document: JsonObject): Promise<ListedUser> {
  const { slug, category } = target;
  const { email, createdAt } = document;
  const id = String(document.id);
  return {
    id,
    email: typeof email === 'string' ? email : null,
    collection: slug,
    createdAt: String(createdAt),
    ...(await accountStateOf(app, target, document)),
    sessions: sessionsOf(app, { category, id }, null).length,
  };
}

import { DomainError } from '../../config/errors.ts';
import type { AccessResult, Collection, PublishArgs, User } from '../../config/model.ts';
import type { JsonObject } from '../../config/schema.ts';
import type { AccountRef } from '../../events/facts/accounts.ts';
import type { Call, RouteCall } from '../app.ts';
import { viewOf } from '../http/requests.ts';
import { yieldToEventLoop } from '../platform/yield.ts';
import { type Rule, ruleOf } from './rules.ts';

/** An account that stays: its document must still have this version when the other account is erased. */
export type RemainingAccount = AccountRef & { version: number };

/** How many accounts are read at a time; a rule that reads `doc` is asked about no more. */
const atOnce = 100;

/** An account that is to be erased, with its document; of a deleted one the last state. */
type Leaving = { id: string; document: JsonObject; isDeleted: boolean };

/**
 * Finds another account that can update or delete accounts of the admin collection. Without such an account, only
 * commands could manage accounts.
 *
 * @returns null if the account that is to be erased cannot manage others, or could not when it was there.
 * @throws DomainError `conflict` if no other account can.
 */
export async function remainingAdministrator(
  { app, request }: RouteCall,
  { id, document, isDeleted }: Leaving,
): Promise<RemainingAccount | null> {
  const { adminCollection: slug } = app.model;
  const target = slug === null ? undefined : app.collections.get(slug);
  if (slug === null || !target) return null;
  const call = { app, request, target };
  const leaving = isDeleted ? { ...document, id, collection: slug } : app.userOf(slug, id);
  if (!(await administers(call, leaving, true))) return null;
  for await (const other of idsIn(call)) {
    const version = other === id ? undefined : target.documents.stored(other)?.version;
    if (version !== undefined && (await administers(call, app.userOf(slug, other), false)))
      return { category: target.category, id: other, version };
  }
  const message =
    `${slug}/${id} is the last account of ${slug} that the rules let update or delete others, so it is not erased here: ` +
    'give another one that right first, or use the command annals erase';
  throw new DomainError('conflict', message);
}

async function* idsIn({ target }: Call): AsyncGenerator<string> {
  for (let page = 1; ; page += 1) {
    const { texts } = target.documents.list({ where: null, sort: [], limit: atOnce, page, count: 'none' });
    for (const text of texts) yield String(JSON.parse(text).id);
    if (texts.length < atOnce) return;
    await yieldToEventLoop();
  }
}

/**
 * Whether the rules let a user update or delete the account of another user.
 *
 * @param inDoubt the answer if a rule throws, or there is no other account to ask it about.
 */
async function administers(call: Call<Collection>, user: User | null, inDoubt: boolean): Promise<boolean> {
  if (!user) return false;
  for (const operation of ['update', 'delete'] as const) {
    const rule = ruleOf(call, operation);
    if (rule && (await admitsToOthers(rule, user, inDoubt))) return true;
  }
  return false;
}

async function admitsToOthers(rule: Rule, user: User, inDoubt: boolean): Promise<boolean> {
  const { app, target } = rule.call;
  const isOther = { id: { not_equals: user.id } };
  const others = await app.readCondition(target, isOther);
  try {
    const { answer, hasLooked } = await ask(rule, user, null);
    if (!hasLooked && typeof answer !== 'object') return answer;
    // Of the only account it cannot be told whether its right is to all accounts, or only to itself.
    if (target.documents.find(others) === null) return inDoubt;
    if (!hasLooked) return target.documents.find(await app.readCondition(target, { and: [answer, isOther] })) !== null;
    const { texts } = target.documents.list({ where: others, sort: [], limit: atOnce, page: 1, count: 'none' });
    for (const text of texts) if (await isAdmitted(rule, user, JSON.parse(text))) return true;
    return false;
  } catch {
    return inDoubt;
  }
}

async function isAdmitted(rule: Rule, user: User, doc: JsonObject): Promise<boolean> {
  const { app, target } = rule.call;
  const { answer, error } = await ask(rule, user, doc);
  if (error !== undefined) return false;
  if (typeof answer !== 'object') return answer;
  return target.documents.matches(String(doc.id), await app.readCondition(target, answer));
}

type Answer = { answer: boolean | JsonObject; hasLooked: boolean; error?: unknown };

/** Asks a rule for another user than the caller. @param doc null: it is only noted that the rule looks at it. */
async function ask({ call, decide }: Rule, user: User, doc: JsonObject | null): Promise<Answer> {
  let hasLooked = false;
  // Accounts have no drafts.
  const args: PublishArgs = {
    user,
    data: null,
    req: viewOf(call.request),
    published: null,
    editors: [],
    locale: null,
    get doc() {
      hasLooked = true;
      return doc;
    },
  };
  try {
    const answer: AccessResult | null | undefined = await decide(args);
    return { answer: answer ?? false, hasLooked };
  } catch (error) {
    if (!hasLooked) throw error;
    return { answer: false, hasLooked, error };
  }
}

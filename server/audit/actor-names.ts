import type { Request } from '@hapi/hapi';
import type { JsonObject } from '../../config/schema.ts';
import { apiKeyStream, documentStream, splitStream } from '../../events/facts/catalogue.ts';
import type { Actor } from '../../events/facts/envelope.ts';
import { mayRead } from '../access/access.ts';
import type { AuditRights } from '../access/rights.ts';
import type { Sight } from '../access/sight.ts';
import type { App, Call } from '../app.ts';
import { type Showable, showableIn, titleOf } from '../documents/search/titles.ts';
import { oneOf } from '../queries/parameters.ts';

/** The parameter of routes that name actors. */
export const actors = oneOf(
  ['ids', 'names'],
  'ids',
  'With `names` each `actor` has a `label`: the title of the user at the time of the event, or the name of the API key; null for ' +
    'those without one, and for callers who may not see it.',
);

/** The choices of {@link actors}. */
export type ActorForm = 'ids' | 'names';

/** An actor with the name that the caller may see. */
type NamedActor = Actor & { label: string | null };

/** An event, or what was made of one. */
type ActedEvent = { actor: Actor; position: number };

/** Adds the name of its actor to an event. */
export type Naming = <T extends ActedEvent>(told: T) => Promise<T>;

/** Prepares to name actors for a caller; null if the caller asks for no names. */
export function namingFor(
  app: App,
  request: Request,
  asked: { rights: AuditRights; actors: ActorForm },
): Naming | null {
  const { rights } = asked;
  if (asked.actors === 'ids') return null;
  const showable = new Map<string, Promise<Showable>>();
  const sights = new Map<string, Promise<Sight>>();
  const labels = new Map<string, Promise<string | null>>();

  async function sees(stream: string): Promise<boolean> {
    const sight = sights.get(stream) ?? rights.sightOf(stream);
    sights.set(stream, sight);
    return (await sight).extent !== 'none';
  }

  async function labelOf({ type, id }: Actor, position: number): Promise<string | null> {
    if (id === undefined) return null;
    if (type === 'apiKey') return (await sees(apiKeyStream)) ? (app.apiKeys.find(id)?.name ?? null) : null;
    const [category, user] = splitStream(id);
    const target = app.byCategory.get(category);
    if (type !== 'user' || !target || !(await sees(documentStream(category, user)))) return null;
    // A user who ends their own account is gone with the event.
    const then = target.documents.asOf(user, position) ?? target.documents.asOf(user, position - 1);
    if (!then) return null;
    const key = `${id} ${then.position}`;
    const label = labels.get(key) ?? titleThen({ app, request, target }, JSON.parse(then.text), then.position);
    labels.set(key, label);
    return label;
  }

  /**
   * The title of a user as of a position. The caller must be allowed to read the user as it was at the position and, if
   * it still exists, as it is now. Null if not, or if the title is the id.
   */
  async function titleThen(call: Call, document: JsonObject, position: number): Promise<string | null> {
    const { target } = call;
    const id = String(document.id);
    if (!(await mayRead(call, document, position))) return null;
    const today = target.documents.text(id);
    if (today !== null && !(await mayRead(call, JSON.parse(today)))) return null;
    const isShowable = showable.get(target.slug) ?? showableIn(call);
    showable.set(target.slug, isShowable);
    const title = titleOf(target, document, await isShowable);
    return title === id ? null : title;
  }

  return async (told) => {
    const actor: NamedActor = { ...told.actor, label: await labelOf(told.actor, told.position) };
    return { ...told, actor };
  };
}

/** Names the actors of several events, one after the other, if they are to be named. */
export async function namedAll<T extends ActedEvent>(naming: Naming | null, all: readonly T[]): Promise<readonly T[]> {
  if (!naming) return all;
  const named: T[] = [];
  for (const told of all) named.push(await naming(told));
  return named;
}

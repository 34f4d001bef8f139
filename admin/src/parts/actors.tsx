import type { Actor } from '../../../client/index.ts';
import { useAccount } from '../service/session.ts';
import { useWords, type Words } from '../words/index.ts';

/**
 * The name of an actor: its label, else its kind. `own` is the id of the user without the collection, whose name in
 * events may differ from its slug.
 */
export function nameOfActor(actor: Actor, words: Words['shared'], own: string): string {
  const { type, id, label } = actor;
  if (type === 'user' && id?.endsWith(`/${own}`)) return words.you;
  if (label !== undefined && label !== null && label !== '') return label;
  return type === 'user' ? `${words.actors.user} ${id?.split('/').at(-1)?.slice(-6) ?? ''}`.trim() : words.actors[type];
}

/** The name of an actor. */
export function ActorName({ actor }: { actor: Actor }) {
  const { shared } = useWords();
  const { user } = useAccount();
  return <span title={actor.id}>{nameOfActor(actor, shared, user.id)}</span>;
}

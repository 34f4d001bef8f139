import type { OwnDraftWithData } from '../../../../../client/index.ts';
import { client } from '../../../service/client.ts';
import { findHere, listHere } from '../../../service/kept-here.ts';
import { type draftTarget, isDraftOf, targetName } from '../save/subject.ts';
import { type Found, newerOf } from './newer.ts';

type Target = ReturnType<typeof draftTarget>;

/** The newest draft of an account about something: of this device, or of the service. A place that fails has none. */
export async function findDraft(account: string, target: Target): Promise<Found | null> {
  const [here, service] = await Promise.all([
    findHere(account, targetName(target)).catch(() => undefined),
    atService(target).catch(() => undefined),
  ]);
  return newerOf(here, service, service === undefined ? undefined : client.etagOf(service));
}

/** A draft is looked for in the list: to ask for one that is not there would be an error. */
async function atService(target: Target): Promise<OwnDraftWithData | undefined> {
  const drafts = await client.drafts.list();
  return drafts.some((draft) => isDraftOf(draft, target)) ? client.drafts.get(target) : undefined;
}

/** The newest draft of a document of a collection that is not there yet; null without one. */
export async function findUnfinished(account: string, slug: string): Promise<{ id: string; updatedAt: string } | null> {
  const [here, service] = await Promise.all([listHere(account).catch(() => []), client.drafts.list().catch(() => [])]);
  const drafts = [
    ...here.flatMap(({ target, updatedAt }) => {
      const [collection, id = ''] = target.split('/', 2);
      return collection === slug && id.startsWith('new-') ? [{ id, updatedAt }] : [];
    }),
    ...service.flatMap((draft) =>
      'collection' in draft && draft.collection === slug && draft.id.startsWith('new-')
        ? [{ id: draft.id, updatedAt: draft.updatedAt }]
        : [],
    ),
  ];
  return drafts.sort((one, other) => (one.updatedAt < other.updatedAt ? 1 : -1))[0] ?? null;
}

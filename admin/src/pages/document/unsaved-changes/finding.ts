import type { OwnDraftWithData } from '../../../../../client/index.ts';
import { client } from '../../../service/client.ts';
import { findHere, listHere } from '../../../service/kept-here.ts';
import { type draftTarget, isDraftOf, targetName } from '../save/subject.ts';
import { formsElsewhere } from './neighbours.ts';
import { type Found, newestFirst } from './newest.ts';

type Target = ReturnType<typeof draftTarget>;

/** The draft that a form opens with, and the others about the same that no form has open. */
type FoundChanges = { found: Found | null; others: Found[] };

/**
 * The drafts of an account about something, of this device and of the service; a place that fails has none. Those of
 * forms that are open in other tabs are left to them.
 *
 * @param choice the form whose draft is wished for, and the one that was left for it.
 */
export async function findUnsaved(
  account: string,
  target: Target,
  choice: { wanted: string | undefined; left: string } | null = null,
): Promise<FoundChanges> {
  const [here, service] = await Promise.all([
    findHere(account, targetName(target)).catch(() => []),
    atService(target).catch(() => undefined),
  ]);
  const open = here.length === 0 ? new Set<string>() : await formsElsewhere(`${account} ${targetName(target)}`);
  if (choice !== null) open.delete(choice.left);
  const drafts = newestFirst(here, service, service === undefined ? undefined : client.etagOf(service));
  const closed = drafts.filter(({ form }) => form === undefined || !open.has(form));
  const wanted = closed.find(({ form }) => form === choice?.wanted);
  // Another tab may have taken that one, and left it.
  const other = choice === null ? undefined : closed.find(({ form }) => form !== choice.left);
  const found = (choice === null ? undefined : (wanted ?? other)) ?? closed[0] ?? null;
  return { found, others: closed.filter((one) => one !== found) };
}

/**
 * Whether the service keeps a draft about something. To ask for one that is not there would be an error, so it looks at
 * the list.
 */
export async function hasUnsaved(target: Target): Promise<boolean> {
  return (await client.drafts.list()).some((draft) => isDraftOf(draft, target));
}

async function atService(target: Target): Promise<OwnDraftWithData | undefined> {
  return (await hasUnsaved(target)) ? client.drafts.get(target) : undefined;
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

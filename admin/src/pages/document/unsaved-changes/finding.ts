import type { OwnDraftWithData } from '../../../../../client/index.ts';
import { client } from '../../../service/client.ts';
import { everyEntry } from '../../../service/every-page.ts';
import { findHere, listHere } from '../../../service/local-changes.ts';
import { type DraftTarget, isDraftOf, targetName } from '../save/subject.ts';
import { formsElsewhere } from './neighbours.ts';
import { newestFirst, type StoredChanges } from './newest.ts';

/** The unsaved changes that a form opens with, and others of the same target that no form has open. */
type ChangesToOpen = { found: StoredChanges | null; others: StoredChanges[] };

/**
 * The unsaved changes of an account to a target, on this device and at the service; a store that fails counts as empty.
 * Changes of forms that are open in other tabs are left to those tabs.
 *
 * @param choice the form whose unsaved changes the user wants, and the form that the user left for them.
 */
export async function findUnsaved(
  account: string,
  target: DraftTarget,
  choice: { wanted: string | undefined; left: string } | null = null,
): Promise<ChangesToOpen> {
  const [here, service] = await Promise.all([
    findHere(account, targetName(target)).catch(() => []),
    atService(target).catch(() => undefined),
  ]);
  const open = here.length === 0 ? new Set<string>() : await formsElsewhere(`${account} ${targetName(target)}`);
  if (choice !== null) open.delete(choice.left);
  const drafts = newestFirst(here, service, service === undefined ? undefined : client.etagOf(service));
  const closed = drafts.filter(({ form }) => form === undefined || !open.has(form));
  const wanted = closed.find(({ form }) => form === choice?.wanted);
  // Another tab may have taken over the wanted changes under its own name, and closed.
  const other = choice === null ? undefined : closed.find(({ form }) => form !== choice.left);
  const found = (choice === null ? undefined : (wanted ?? other)) ?? closed[0] ?? null;
  return { found, others: closed.filter((one) => one !== found) };
}

/**
 * Whether the service keeps unsaved changes to a target. This looks at the list, because asking for changes that are
 * not there is an error.
 */
export async function hasUnsaved(target: DraftTarget): Promise<boolean> {
  return (await everyEntry(client.drafts.list)).some((draft) => isDraftOf(draft, target));
}

async function atService(target: DraftTarget): Promise<OwnDraftWithData | undefined> {
  return (await hasUnsaved(target)) ? client.drafts.get(target) : undefined;
}

/** The newest unsaved changes of a new document in a collection; null without any. */
export async function findUnfinished(account: string, slug: string): Promise<{ id: string; updatedAt: string } | null> {
  const [here, service] = await Promise.all([
    listHere(account).catch(() => []),
    everyEntry(client.drafts.list).catch(() => []),
  ]);
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

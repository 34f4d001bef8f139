import { ApiError } from '../../../../../client/errors.ts';
import { client } from '../../../service/client.ts';
import { dropHere, keepHere, type LocalChanges } from '../../../service/local-changes.ts';
import { type Account, accountNow, logoutsSoFar, nameOf } from '../../../service/session.ts';
import { type DraftTarget, targetName } from '../save/subject.ts';
import type { Stores, UnsavedChanges } from './autosave.ts';
import { hasUnsaved } from './finding.ts';
import type { StoredChanges } from './newest.ts';

type About = { account: Account; target: DraftTarget; form: string };

/**
 * The stores of the unsaved changes of a form. This device keeps the changes of every form; the service keeps, for each
 * document, the changes of one form.
 */
export function storesOf(
  { account, target, form }: About,
  found: StoredChanges | null,
): Stores & { adopt: () => Promise<void> } {
  const own = { account: nameOf(account), target: targetName(target), form };
  /** The unsaved changes of a closed form that this form continues. */
  let before = found?.form === undefined ? null : { ...own, form: found.form, updatedAt: found.updatedAt };
  /** The tag of the copy at the service, if it is the copy of this form. */
  let etag = found?.etag;

  function requireAccount(): void {
    const now = accountNow();
    if (now === null || nameOf(now) !== own.account) throw new Error('another account is logged in');
  }

  const logouts = logoutsSoFar();

  /** Keeps unsaved changes on this device, unless the user has logged out since: then no data of theirs stays here. */
  async function keepOwn(draft: Omit<LocalChanges, keyof typeof own>): Promise<void> {
    if (logoutsSoFar() !== logouts) throw new Error('the user has logged out');
    await keepHere({ ...own, ...draft });
  }

  async function dropBefore(): Promise<void> {
    if (before !== null) await dropHere(before, before.updatedAt);
    before = null;
  }

  return {
    /** Makes the found changes those of this form, so that no other tab opens them as well. */
    async adopt(): Promise<void> {
      if (found === null) return;
      const { data, base, version, updatedAt, atService } = found;
      await keepOwn({ data, base, version, updatedAt, atService });
      await dropBefore();
    },
    here: {
      async keep(changes: UnsavedChanges, atService: string | null): Promise<void> {
        await keepOwn({ ...changes, updatedAt: new Date().toISOString(), atService });
        await dropBefore();
      },
      async drop(): Promise<void> {
        await dropHere(own);
        await dropBefore();
      },
    },
    service: {
      async keep({ data, version }: UnsavedChanges): Promise<string> {
        requireAccount();
        // The changes of another tab or device stay at the service: those of this form are kept on this device only.
        if (etag === undefined && (await hasUnsaved(target))) throw new Error('the service keeps another draft');
        try {
          const answer = await client.drafts.keep(target, { data, version }, { ifMatch: etag, retries: 0 });
          etag = client.etagOf(answer);
          return answer.updatedAt;
        } catch (error) {
          if (error instanceof ApiError && error.status === 412) etag = undefined;
          throw error;
        }
      },
      async drop(): Promise<void> {
        requireAccount();
        if (etag !== undefined) await client.drafts.drop(target, { ifMatch: etag, retries: 0 });
        etag = undefined;
      },
    },
  };
}

import { ApiError } from '../../../../../client/errors.ts';
import { client } from '../../../service/client.ts';
import { dropHere, type KeptHere, keepHere } from '../../../service/kept-here.ts';
import { type Account, accountNow, logoutsSoFar, nameOf } from '../../../service/session.ts';
import { type draftTarget, targetName } from '../save/subject.ts';
import type { Kept, Stores } from './autosave.ts';
import { hasUnsaved } from './finding.ts';
import type { Found } from './newest.ts';

type About = { account: Account; target: ReturnType<typeof draftTarget>; form: string };

/**
 * The stores of the unsaved changes of a form: this device keeps those of each form, and the service those of one form
 * for each document.
 */
export function storesOf(
  { account, target, form }: About,
  found: Found | null,
): Stores & { adopt: () => Promise<void> } {
  const own = { account: nameOf(account), target: targetName(target), form };
  /** The draft of a form that is closed, which this one goes on with. */
  let before = found?.form === undefined ? null : { ...own, form: found.form, updatedAt: found.updatedAt };
  /** The tag of the draft of the service, where that is of this form. */
  let etag = found?.etag;

  function requireAccount(): void {
    const now = accountNow();
    if (now === null || nameOf(now) !== own.account) throw new Error('another account is logged in');
  }

  const logouts = logoutsSoFar();

  /** Keeps a draft on this device, but not when the user has logged out since: then none of theirs stays here. */
  async function keepOwn(draft: Omit<KeptHere, keyof typeof own>): Promise<void> {
    if (logoutsSoFar() !== logouts) throw new Error('the user has logged out');
    await keepHere({ ...own, ...draft });
  }

  async function dropBefore(): Promise<void> {
    if (before !== null) await dropHere(before, before.updatedAt);
    before = null;
  }

  return {
    /** Makes the draft that was found one of this form, so that no other tab opens it as well. */
    async adopt(): Promise<void> {
      if (found === null) return;
      const { data, base, version, updatedAt, atService } = found;
      await keepOwn({ data, base, version, updatedAt, atService });
      await dropBefore();
    },
    here: {
      async keep(kept: Kept, atService: string | null): Promise<void> {
        await keepOwn({ ...kept, updatedAt: new Date().toISOString(), atService });
        await dropBefore();
      },
      async drop(): Promise<void> {
        await dropHere(own);
        await dropBefore();
      },
    },
    service: {
      async keep({ data, version }: Kept): Promise<string> {
        requireAccount();
        // The draft of another tab or device stays there: this form is kept on this device alone.
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

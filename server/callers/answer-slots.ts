import type { Request } from '@hapi/hapi';
import { DomainError } from '../../config/errors.ts';
import { callerOf } from '../http/caller.ts';
import type { AnswerSlots, SlotKind } from '../ports.ts';

/** The most answers that take long of a caller at once, in all threads of the process. */
export const maxSlots: Record<SlotKind, number> = { stream: 5, archive: 2 };

const retrySeconds = 10;

/** The count of the slots of each caller in all threads of the process. */
export type SlotCounts = {
  /** The slots for one thread; `release` frees those that the thread still has when it ends. */
  join: () => AnswerSlots & { release: () => void };
};

/** Begins to count. @param most the slots of a caller, by kind. */
export function openSlotCounts(most = maxSlots): SlotCounts {
  const all = new Map<string, number>();

  function add(counts: Map<string, number>, slot: string, by: 1 | -1): void {
    const count = (counts.get(slot) ?? 0) + by;
    if (count > 0) counts.set(slot, count);
    else counts.delete(slot);
  }

  function join() {
    const here = new Map<string, number>();

    return {
      async take(kind: SlotKind, caller: string): Promise<boolean> {
        const slot = `${kind} ${caller}`;
        if ((all.get(slot) ?? 0) >= most[kind]) return false;
        add(here, slot, 1);
        add(all, slot, 1);
        return true;
      },
      async free(kind: SlotKind, caller: string): Promise<void> {
        const slot = `${kind} ${caller}`;
        if (!here.has(slot)) return;
        add(here, slot, -1);
        add(all, slot, -1);
      },
      release(): void {
        for (const [slot, count] of here) for (let left = count; left > 0; left -= 1) add(all, slot, -1);
        here.clear();
      },
    };
  }

  return { join };
}

/**
 * Takes a slot of the caller of a request until the end of the answer.
 *
 * @param full the message to a caller who has no slot left.
 * @returns frees the slot early; further calls do nothing.
 * @throws DomainError `rate_limited`.
 */
export async function takeSlot(
  { app, request }: { app: { answerSlots: AnswerSlots }; request: Request },
  kind: SlotKind,
  full: string,
): Promise<() => void> {
  const caller = callerOf(request);
  if (!(await app.answerSlots.take(kind, caller))) throw new DomainError('rate_limited', full, [], retrySeconds);
  const { res } = request.raw;
  let isTaken = true;
  const leave = () => {
    if (!isTaken) return;
    isTaken = false;
    res.off('close', leave);
    // If the main thread has ended, there is no slot to free.
    app.answerSlots.free(kind, caller).catch(() => {});
  };
  // If the client left meanwhile, no `close` event follows.
  if (res.closed) leave();
  else res.once('close', leave);
  return leave;
}

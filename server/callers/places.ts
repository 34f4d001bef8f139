import type { Request } from '@hapi/hapi';
import { DomainError } from '../../config/errors.ts';
import { callerOf } from '../http/caller.ts';
import type { PlaceKind, Places } from '../ports.ts';

/** How many answers that take long a caller has at most at once, in all threads of the process. */
export const mostPlaces: Record<PlaceKind, number> = { stream: 5, archive: 2 };

const retrySeconds = 10;

/** Counts the places of each caller in all threads of the process. */
export type PlaceCounts = {
  /** The places as one thread takes them; `release` frees those that the thread still has when it ends. */
  join: () => Places & { release: () => void };
};

/** @param most the places of a caller, by kind. */
export function openPlaceCounts(most = mostPlaces): PlaceCounts {
  const all = new Map<string, number>();

  function add(counts: Map<string, number>, place: string, by: 1 | -1): void {
    const count = (counts.get(place) ?? 0) + by;
    if (count > 0) counts.set(place, count);
    else counts.delete(place);
  }

  function join() {
    const here = new Map<string, number>();

    return {
      async take(kind: PlaceKind, caller: string): Promise<boolean> {
        const place = `${kind} ${caller}`;
        if ((all.get(place) ?? 0) >= most[kind]) return false;
        add(here, place, 1);
        add(all, place, 1);
        return true;
      },
      async free(kind: PlaceKind, caller: string): Promise<void> {
        const place = `${kind} ${caller}`;
        if (!here.has(place)) return;
        add(here, place, -1);
        add(all, place, -1);
      },
      release(): void {
        for (const [place, count] of here) for (let left = count; left > 0; left -= 1) add(all, place, -1);
        here.clear();
      },
    };
  }

  return { join };
}

/**
 * Takes a place of the caller of a request, until the answer is over.
 *
 * @param full the message to a caller who has no place left.
 * @returns frees the place early; further calls do nothing.
 * @throws DomainError `too-many`.
 */
export async function takePlace(
  { app, request }: { app: { places: Places }; request: Request },
  kind: PlaceKind,
  full: string,
): Promise<() => void> {
  const caller = callerOf(request);
  if (!(await app.places.take(kind, caller))) throw new DomainError('too-many', full, [], retrySeconds);
  const { res } = request.raw;
  let isTaken = true;
  const leave = () => {
    if (!isTaken) return;
    isTaken = false;
    res.off('close', leave);
    // Without the main thread, which has ended, no place is to be freed.
    app.places.free(kind, caller).catch(() => {});
  };
  // For a client that left meanwhile, no `close` event follows.
  if (res.closed) leave();
  else res.once('close', leave);
  return leave;
}

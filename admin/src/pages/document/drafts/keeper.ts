import type { Form } from '../form/store.ts';
import { type Values, withoutPasswords } from '../form/values.ts';

/** The part of a form that is kept: the fields that differ, and the same as they were read. */
export type Kept = { data: Values; base: Values; version: number | null };

/** Where drafts are kept. Each call may fail; `atService` is the time of the service's own copy. */
export type Places = {
  here: { keep: (kept: Kept, atService: string | null) => Promise<void>; drop: () => Promise<void> };
  /** Gives the time at which it was kept. */
  service: { keep: (kept: Kept) => Promise<string>; drop: () => Promise<void> };
};

/**
 * - `none`: there is nothing to keep
 * - `waiting`: what was typed last is not kept yet
 * - `here`: it is kept on this device, and not at the service
 * - `service`: it is kept at both
 * - `failed`: neither would keep it
 */
type KeptState = 'none' | 'waiting' | 'here' | 'service' | 'failed';

const pause = 600;

/** Keeps what is typed at each pause: on this device, then at the service. One change after the other. */
export function openKeeper(form: Form, version: () => number | null, places: Places) {
  let state: KeptState = 'none';
  let timer: ReturnType<typeof setTimeout> | undefined;
  let last = form.values();
  /** The time of the copy of the service; null where it has none. */
  let atService: string | null = null;
  let isHere = false;
  let queue: Promise<void> = Promise.resolve();
  const listeners = new Set<() => void>();

  function set(next: KeptState): void {
    if (state === next) return;
    state = next;
    for (const listener of listeners) listener();
  }

  function keptOf(): Kept {
    const names = form.changedNames();
    const pick = (values: Values) => Object.fromEntries(names.map((name) => [name, values[name] ?? null]));
    return {
      data: withoutPasswords(pick(form.values())),
      base: withoutPasswords(pick(form.base())),
      version: version(),
    };
  }

  async function keep(): Promise<void> {
    const values = form.values();
    if (!form.isTyped()) return drop();
    const kept = keptOf();
    const isKeptHere = await succeeds(() => places.here.keep(kept, atService));
    isHere ||= isKeptHere;
    if (form.values() === values) set(isKeptHere ? 'here' : 'waiting');
    const isAtService = await succeeds(async () => {
      atService = await places.service.keep(kept);
      // The copies know of each other, so that the newer one can be told.
      if (isKeptHere) await places.here.keep(kept, atService);
    });
    if (form.values() === values) set(isAtService ? 'service' : isKeptHere ? 'here' : 'failed');
  }

  async function drop(): Promise<void> {
    if (isHere) await succeeds(places.here.drop);
    isHere = false;
    if (atService !== null && (await succeeds(places.service.drop))) atService = null;
    if (!form.isTyped()) set('none');
  }

  function enqueue(act: () => Promise<void>): Promise<void> {
    queue = queue.then(act);
    return queue;
  }

  const stop = form.subscribe(() => {
    if (form.values() === last) return;
    last = form.values();
    set('waiting');
    clearTimeout(timer);
    timer = setTimeout(() => {
      timer = undefined;
      void enqueue(keep);
    }, pause);
  });

  return {
    state: () => state,
    subscribe(listener: () => void): () => void {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    /** Takes over the draft that was there when the form was opened; `keptAt` is the time of the copy of the service. */
    adopt(take: () => Promise<void>, keptAt: string | null): void {
      isHere = true;
      atService = keptAt;
      set(keptAt === null ? 'here' : 'service');
      void enqueue(async () => {
        await succeeds(take);
      });
    },
    /** Keeps at once what waits for a pause. */
    flush(): Promise<void> {
      if (timer === undefined) return queue;
      clearTimeout(timer);
      timer = undefined;
      return enqueue(keep);
    },
    /** The text is saved or given up: keeps the rest, if there is some. */
    settle(): Promise<void> {
      clearTimeout(timer);
      timer = undefined;
      last = form.values();
      return enqueue(keep);
    },
    close(): void {
      stop();
      clearTimeout(timer);
    },
  };
}

async function succeeds(act: () => Promise<void>): Promise<boolean> {
  try {
    await act();
    return true;
  } catch {
    return false;
  }
}

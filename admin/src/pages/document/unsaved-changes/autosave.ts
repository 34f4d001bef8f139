import { openListeners } from '../../../service/listeners.ts';
import type { Form } from '../form/store.ts';
import { type Values, withoutPasswords } from '../form/values.ts';

/** The part of a form that is kept: the fields that differ, and the same as they were read. */
export type Kept = { data: Values; base: Values; version: number | null };

/** Where drafts are kept. Each call may fail; `atService` is the time of the service's own copy. */
export type Stores = {
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
export function openAutosave(form: Form, version: () => number | null, stores: Stores) {
  let state: KeptState = 'none';
  let last = form.values();
  const { tell, subscribe } = openListeners();
  const copies = openCopies(stores);
  const turns = openTurns(keep);

  function set(next: KeptState): void {
    if (state === next) return;
    state = next;
    tell();
  }

  async function keep(): Promise<void> {
    const values = form.values();
    const isLatest = () => form.values() === values;
    if (!form.isTyped()) return drop();
    const kept = keptOf(form, version());
    const isHere = await copies.keepHere(kept);
    if (isLatest()) set(isHere ? 'here' : 'waiting');
    const isAtService = await copies.keepAtService(kept, isHere);
    if (isLatest()) set(isAtService ? 'service' : isHere ? 'here' : 'failed');
  }

  async function drop(): Promise<void> {
    await copies.drop();
    if (!form.isTyped()) set('none');
  }

  const stop = form.subscribe(() => {
    if (form.values() === last) return;
    last = form.values();
    set('waiting');
    turns.later();
  });

  return {
    state: () => state,
    subscribe,
    /**
     * Takes over the draft that was there when the form was opened; `keptAt` is the time of the copy of the service.
     */
    adopt(take: () => Promise<void>, keptAt: string | null): void {
      copies.adopt(keptAt);
      set(keptAt === null ? 'here' : 'service');
      void turns.next(async () => {
        await succeeds(take);
      });
    },
    /** Keeps at once what waits for a pause. */
    flush: turns.flush,
    /** The text is saved or given up: keeps the rest, if there is some. */
    settle(): Promise<void> {
      last = form.values();
      return turns.now();
    },
    close(): void {
      stop();
      turns.cancel();
    },
  };
}

function keptOf(form: Form, version: number | null): Kept {
  const names = form.changedNames();
  const pick = (values: Values) => Object.fromEntries(names.map((name) => [name, values[name] ?? null]));
  return { data: withoutPasswords(pick(form.values())), base: withoutPasswords(pick(form.base())), version };
}

/** The copies of a draft. A call says whether it has succeeded. */
function openCopies({ here, service }: Stores) {
  let isHere = false;
  /** The time of the copy of the service; null where it has none. */
  let atService: string | null = null;
  return {
    /** One that is kept here, and at the service at a time. */
    adopt(keptAt: string | null): void {
      isHere = true;
      atService = keptAt;
    },
    async keepHere(kept: Kept): Promise<boolean> {
      const isKept = await succeeds(() => here.keep(kept, atService));
      isHere ||= isKept;
      return isKept;
    },
    keepAtService(kept: Kept, isKeptHere: boolean): Promise<boolean> {
      return succeeds(async () => {
        atService = await service.keep(kept);
        // The copies know of each other, so that the newer one can be told.
        if (isKeptHere) await here.keep(kept, atService);
      });
    },
    async drop(): Promise<void> {
      if (isHere) await succeeds(here.drop);
      isHere = false;
      if (atService !== null && (await succeeds(service.drop))) atService = null;
    },
  };
}

/** Acts at a pause, or at once; one turn after the other. */
function openTurns(act: () => Promise<void>) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let queue: Promise<void> = Promise.resolve();

  function cancel(): void {
    clearTimeout(timer);
    timer = undefined;
  }

  function next(act: () => Promise<void>): Promise<void> {
    queue = queue.then(act);
    return queue;
  }

  function now(): Promise<void> {
    cancel();
    return next(act);
  }

  return {
    next,
    now,
    cancel,
    later(): void {
      cancel();
      timer = setTimeout(() => void now(), pause);
    },
    /** At once, where a turn waits for a pause. */
    flush: (): Promise<void> => (timer === undefined ? queue : now()),
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

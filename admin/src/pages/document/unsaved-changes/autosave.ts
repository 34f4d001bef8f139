import { openListeners } from '../../../service/listeners.ts';
import type { Form } from '../form/store.ts';
import { type Values, withoutPasswords } from '../form/values.ts';

/** The unsaved changes of a form: the fields that differ, and the same fields as they were read. */
export type UnsavedChanges = { data: Values; base: Values; version: number | null };

/** The places that keep unsaved changes. Each call may fail; `atService` is the time of the copy at the service. */
export type Stores = {
  here: { keep: (changes: UnsavedChanges, atService: string | null) => Promise<void>; drop: () => Promise<void> };
  /** `keep` returns the time of the copy at the service. */
  service: { keep: (changes: UnsavedChanges) => Promise<string>; drop: () => Promise<void> };
};

/**
 * - `none`: there are no unsaved changes
 * - `waiting`: the latest changes are not kept yet
 * - `here`: they are kept on this device, but not at the service
 * - `service`: they are kept at both
 * - `failed`: they are kept at neither
 */
type AutosaveState = 'none' | 'waiting' | 'here' | 'service' | 'failed';

const pause = 600;

/** Keeps unsaved changes at each pause in typing: on this device, then at the service. The writes are in sequence. */
export function openAutosave(form: Form, version: () => number | null, stores: Stores) {
  let state: AutosaveState = 'none';
  let last = form.values();
  const { tell, subscribe } = openListeners();
  const copies = openCopies(stores);
  const turns = openTurns(keep);

  function set(next: AutosaveState): void {
    if (state === next) return;
    state = next;
    tell();
  }

  async function keep(): Promise<void> {
    const values = form.values();
    const isLatest = () => form.values() === values;
    if (!form.isTyped()) return drop();
    const changes = changesOf(form, version());
    const isHere = await copies.keepHere(changes);
    if (isLatest()) set(isHere ? 'here' : 'waiting');
    const isAtService = await copies.keepAtService(changes, isHere);
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
     * Takes over unsaved changes that the form was opened with; `keptAt` is the time of their copy at the service.
     */
    adopt(take: () => Promise<void>, keptAt: string | null): void {
      copies.adopt(keptAt);
      set(keptAt === null ? 'here' : 'service');
      void turns.next(async () => {
        await succeeds(take);
      });
    },
    /** Keeps at once the changes that wait for a pause. */
    flush: turns.flush,
    /** Called after a save or a discard: keeps the rest of the changes, if there are any. */
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

function changesOf(form: Form, version: number | null): UnsavedChanges {
  const names = form.changedNames();
  const pick = (values: Values) => Object.fromEntries(names.map((name) => [name, values[name] ?? null]));
  return { data: withoutPasswords(pick(form.values())), base: withoutPasswords(pick(form.base())), version };
}

/** The copies of unsaved changes. A call says whether it has succeeded. */
function openCopies({ here, service }: Stores) {
  let isHere = false;
  /** The time of the copy at the service; null without a copy there. */
  let atService: string | null = null;
  return {
    /** Takes over the copy on this device, and the copy at the service from `keptAt`. */
    adopt(keptAt: string | null): void {
      isHere = true;
      atService = keptAt;
    },
    async keepHere(changes: UnsavedChanges): Promise<boolean> {
      const isKept = await succeeds(() => here.keep(changes, atService));
      isHere ||= isKept;
      return isKept;
    },
    keepAtService(changes: UnsavedChanges, isKeptHere: boolean): Promise<boolean> {
      return succeeds(async () => {
        atService = await service.keep(changes);
        // The copy here names the copy at the service, so that a later start can tell which is newer.
        if (isKeptHere) await here.keep(changes, atService);
      });
    },
    async drop(): Promise<void> {
      if (isHere) await succeeds(here.drop);
      isHere = false;
      if (atService !== null && (await succeeds(service.drop))) atService = null;
    },
  };
}

/** Runs `act` after a pause or at once, one run after the other. */
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
    /** Runs at once if a run waits for a pause. */
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

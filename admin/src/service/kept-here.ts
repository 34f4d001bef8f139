import { storageName } from './place.ts';

/** Text that an account has typed and not saved, as this device keeps it. */
export type KeptHere = {
  /** `<collection>/<id>` of the account. */
  account: string;
  /** `<collection>/<id>` of the document, `globals/<slug>` of a global. */
  target: string;
  /** The fields that differ from what was read. */
  data: Record<string, unknown>;
  /** The same fields as they were read. */
  base: Record<string, unknown>;
  /** The version that was read; null for a document that is not there yet. */
  version: number | null;
  /** ISO 8601, by the clock of this device. */
  updatedAt: string;
  /** `updatedAt` of the draft that the service keeps of the same; null where it keeps none. */
  atService: string | null;
};

const storeName = 'drafts';
let opened: Promise<IDBDatabase> | undefined;

function database(): Promise<IDBDatabase> {
  opened ??= new Promise((resolve, reject) => {
    const request = indexedDB.open(storageName('drafts'), 1);
    request.onupgradeneeded = () => request.result.createObjectStore(storeName, { keyPath: ['account', 'target'] });
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  opened.catch(() => {
    opened = undefined;
  });
  return opened;
}

async function run<Result>(
  mode: IDBTransactionMode,
  act: (store: IDBObjectStore) => IDBRequest<Result>,
): Promise<Result> {
  const transaction = (await database()).transaction(storeName, mode);
  const request = act(transaction.objectStore(storeName));
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve(request.result);
    transaction.onerror = () => reject(transaction.error);
    transaction.onabort = () => reject(transaction.error);
  });
}

/** All drafts of one account. */
function rangeOf(account: string): IDBKeyRange {
  return IDBKeyRange.bound([account], [account, []]);
}

/** Keeps a draft in the place of the one before. */
export async function keepHere(draft: KeptHere): Promise<void> {
  await run('readwrite', (store) => store.put(draft));
}

/** The draft of an account about something; undefined if there is not one. */
export function findHere(account: string, target: string): Promise<KeptHere | undefined> {
  return run<KeptHere | undefined>('readonly', (store) => store.get([account, target]));
}

/** All drafts of an account. */
export function listHere(account: string): Promise<KeptHere[]> {
  return run<KeptHere[]>('readonly', (store) => store.getAll(rangeOf(account)));
}

/** Forgets a draft of an account, if there is one. */
export async function dropHere(account: string, target: string): Promise<void> {
  await run('readwrite', (store) => store.delete([account, target]));
}

/** Forgets all drafts of an account: it logs out. */
export async function clearHere(account: string): Promise<void> {
  await run('readwrite', (store) => store.delete(rangeOf(account)));
}

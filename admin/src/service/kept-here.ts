import { storageName } from './place.ts';

/** Text that an account has typed and not saved, as this device keeps it. */
export type KeptHere = {
  /** `<collection>/<id>` of the account. */
  account: string;
  /** `<collection>/<id>` of the document, `globals/<slug>` of a global. */
  target: string;
  /** The form that it was typed in: two tabs with one document keep a draft each. */
  form: string;
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
    const request = indexedDB.open(storageName('drafts-of-forms'), 1);
    request.onupgradeneeded = () => {
      request.result.createObjectStore(storeName, { keyPath: ['account', 'target', 'form'] });
    };
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

/** All drafts of one account, or of one about something. */
function rangeOf(...start: string[]): IDBKeyRange {
  return IDBKeyRange.bound(start, [...start, []]);
}

/** Keeps a draft in the place of the one before. */
export async function keepHere(draft: KeptHere): Promise<void> {
  await run('readwrite', (store) => store.put(draft));
}

/** The drafts of an account about something, of all forms. */
export function findHere(account: string, target: string): Promise<KeptHere[]> {
  return run<KeptHere[]>('readonly', (store) => store.getAll(rangeOf(account, target)));
}

/** All drafts of an account. */
export function listHere(account: string): Promise<KeptHere[]> {
  return run<KeptHere[]>('readonly', (store) => store.getAll(rangeOf(account)));
}

/** Forgets a draft, if it is there, and as it was at `updatedAt` where that is given. */
export async function dropHere(
  { account, target, form }: Pick<KeptHere, 'account' | 'target' | 'form'>,
  updatedAt?: string,
): Promise<void> {
  const key = [account, target, form];
  const isOther = async () =>
    (await run<KeptHere | undefined>('readonly', (store) => store.get(key)))?.updatedAt !== updatedAt;
  if (updatedAt !== undefined && (await isOther())) return;
  await run('readwrite', (store) => store.delete(key));
}

/** Forgets all drafts of an account: it logs out. */
export async function clearHere(account: string): Promise<void> {
  await run('readwrite', (store) => store.delete(rangeOf(account)));
}

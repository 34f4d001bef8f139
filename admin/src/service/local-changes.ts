import { storageName } from './place.ts';

/** Unsaved changes of an account in one form, as this device keeps them. */
export type LocalChanges = {
  /** `<collection>/<id>` of the account. */
  account: string;
  /** `<collection>/<id>` of the document, `globals/<slug>` of a global. */
  target: string;
  /** The form that they were typed in: two tabs with the same document keep their changes apart. */
  form: string;
  /** The fields that differ from the document as it was read. */
  data: Record<string, unknown>;
  /** The same fields as they were read. */
  base: Record<string, unknown>;
  /** The version that was read; null for a document that is not created yet. */
  version: number | null;
  /** ISO 8601, by the clock of this device. */
  updatedAt: string;
  /** `updatedAt` of the copy of these changes at the service; null if the service has no copy. */
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

/** The keys that begin with an account, or with an account and a target. */
function rangeOf(...start: string[]): IDBKeyRange {
  return IDBKeyRange.bound(start, [...start, []]);
}

/** Keeps unsaved changes, in place of the previous ones of the same form. */
export async function keepHere(draft: LocalChanges): Promise<void> {
  await run('readwrite', (store) => store.put(draft));
}

/** The unsaved changes of an account to a target, of all forms. */
export function findHere(account: string, target: string): Promise<LocalChanges[]> {
  return run<LocalChanges[]>('readonly', (store) => store.getAll(rangeOf(account, target)));
}

/** All unsaved changes of an account. */
export function listHere(account: string): Promise<LocalChanges[]> {
  return run<LocalChanges[]>('readonly', (store) => store.getAll(rangeOf(account)));
}

/** Deletes the unsaved changes of a form; with `updatedAt`, only if they are still those of that time. */
export async function dropHere(
  { account, target, form }: Pick<LocalChanges, 'account' | 'target' | 'form'>,
  updatedAt?: string,
): Promise<void> {
  const key = [account, target, form];
  const isOther = async () =>
    (await run<LocalChanges | undefined>('readonly', (store) => store.get(key)))?.updatedAt !== updatedAt;
  if (updatedAt !== undefined && (await isOther())) return;
  await run('readwrite', (store) => store.delete(key));
}

/** Deletes all unsaved changes of an account that logs out. */
export async function clearHere(account: string): Promise<void> {
  await run('readwrite', (store) => store.delete(rangeOf(account)));
}

import { storageNameOf } from '../../service/place.ts';
import { type Recent, recentOf, withRecent } from './recent-list.ts';

/** The documents that an account opened last in this browser, the last first. */
export function recentDocuments(account: string): Recent[] {
  return recentOf(localStorage.getItem(storageNameOf(account, 'recent')));
}

/** Puts a document first among the recent documents. */
export function keepRecent(account: string, document: Recent): void {
  const kept = withRecent(recentDocuments(account), document);
  localStorage.setItem(storageNameOf(account, 'recent'), JSON.stringify(kept));
}

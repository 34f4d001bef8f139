import type { BlobSettings, BlobStore } from './blobs.ts';
import { openBucketStore } from './bucket/store.ts';
import { openFolderStore } from './folder-store.ts';

/** Opens the store of uploaded files; to be closed by the thread that opened it. */
export function openBlobStore(settings: BlobSettings): BlobStore {
  return settings.kind === 'folder' ? openFolderStore(settings.folder) : openBucketStore(settings);
}

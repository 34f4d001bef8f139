import { DomainError } from '../../config/errors.ts';
import { BlobsRefusedError, BlobsUnavailableError } from '../../storage/blobs.ts';

/** The errors of a store of files that cannot be used: not now, or not as it is configured. */
export type StoreFailure = BlobsUnavailableError | BlobsRefusedError;

/** Whether an error says that the store of files cannot be used. */
export function isStoreFailure(error: unknown): error is StoreFailure {
  return error instanceof BlobsUnavailableError || error instanceof BlobsRefusedError;
}

/** The error for the client; the message of the failure itself is for the log and for the operator. */
export function storeRefusal(failure: StoreFailure): DomainError {
  const isFull = failure instanceof BlobsUnavailableError && failure.reason === 'full';
  const message = isFull
    ? 'there is no room for the file: nothing was kept'
    : 'files can be neither kept nor read at the moment: nothing was changed';
  return new DomainError(isFull ? 'disk_full' : 'unavailable', message);
}

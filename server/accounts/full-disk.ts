import { isDiskFull } from '../../storage/sqlite.ts';
import { diskFull } from '../writer/disk-full.ts';

/** Waits for work that writes to the vault. @throws DomainError `unavailable` if the disk is full. */
export async function refusedOnFullDisk<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw isDiskFull(error) ? diskFull() : error;
  }
}

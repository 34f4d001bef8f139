import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { privateFile } from '../../storage/private.ts';

/**
 * The note that `annals backup` leaves in the data directory after each verified backup: its end (ISO 8601), its last
 * event.
 */
type BackupNote = { finishedAt: string; position: number };

const fileIn = (directory: string) => join(directory, 'backup.json');

/** The last verified backup; null before the first, or if the file is not such a note. */
export function readBackupNote(directory: string): BackupNote | null {
  try {
    const { finishedAt, position } = JSON.parse(readFileSync(fileIn(directory), 'utf8'));
    const isNote =
      typeof finishedAt === 'string' && !Number.isNaN(Date.parse(finishedAt)) && Number.isInteger(position);
    return isNote ? { finishedAt, position } : null;
  } catch {
    return null;
  }
}

/** Notes a backup that has just been verified. */
export function noteBackup(directory: string, position: number): void {
  const partial = `${fileIn(directory)}.${process.pid}.partial`;
  const note: BackupNote = { finishedAt: new Date().toISOString(), position };
  writeFileSync(partial, JSON.stringify(note), { mode: privateFile });
  renameSync(partial, fileIn(directory));
}

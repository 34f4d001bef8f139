import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { after } from 'node:test';
import { readLog } from '../../events/log/log-reader.ts';
import { seesAll } from '../../server/access/sight.ts';
import { type Bundle, bundleZip } from '../../server/audit/exports/bundle.ts';
import { exportZip } from '../../server/audit/exports/export.ts';
import type { Filters } from '../../server/audit/exports/filters.ts';
import type { ExportFormat } from '../../server/audit/exports/formats.ts';
import { openBlobStore } from '../../storage/blob-store.ts';
import { openDatabase, type Sqlite } from '../../storage/sqlite.ts';
import { unzip } from '../helpers/unzip.ts';
import { type Entry, hexOf, noteOf, type Signer, type Thing, writeLog } from './forger.ts';

/** The files of an archive, as it says them. */
export type Files = Record<string, Buffer | string>;

/** The parts of every archive. */
type Common = Pick<Bundle, 'log' | 'blobs' | 'checkpoint' | 'verifierKey' | 'earlier' | 'stamped' | 'handovers'>;

export type ArchiveOptions = { filters?: Filters; withPayloads?: boolean };

export const signedAt = '2026-11-20T13:00:00.000Z';
export const madeAt = '2026-11-20T14:00:00.000Z';

/** Makes archives of logs as the service does, for the tests of a file; each log is written once. */
export function useArchives(folder: string, signer: Signer) {
  const opened = new Map<readonly Entry[], { db: Sqlite; of: Common }>();
  const blobs = openBlobStore({ kind: 'folder', folder: join(folder, 'blobs') });
  after(() => {
    for (const { db } of opened.values()) db.close();
    blobs.close();
  });

  function open(entries: readonly Entry[]): Common {
    const found = opened.get(entries);
    if (found) return found.of;
    const path = join(folder, `archived-${opened.size}.db`);
    const note = noteOf(entries, [signer]);
    writeLog(path, entries, [note]);
    const db = openDatabase(path, { readonly: true });
    const checkpoint = { size: entries.length, root: note.split('\n')[2] ?? '', note, signedAt };
    const of = {
      log: readLog(db),
      blobs,
      checkpoint,
      verifierKey: signer.verifierKey,
      earlier: [],
      stamped: [],
      handovers: [],
    };
    opened.set(entries, { db, of });
    return of;
  }

  async function bundle(entries: readonly Entry[], stream: string): Promise<Files> {
    const made = await bundleZip(
      { ...open(entries), stream, sight: seesAll, withFiles: true, isComplete: false },
      new Date(madeAt),
    );
    return Object.fromEntries(unzip(await buffer(made)));
  }

  async function range(
    entries: readonly Entry[],
    format: ExportFormat,
    from: number,
    to: number,
    { filters = {}, withPayloads = true }: ArchiveOptions = {},
  ): Promise<Files> {
    const seesPayloadsOf = withPayloads ? () => true : null;
    const wanted = { format, from, to, filters, seesPayloadsOf, madeAt: new Date(madeAt) };
    return Object.fromEntries(unzip(await buffer(await exportZip({ ...open(entries), ...wanted }))));
  }

  return { bundle, range };
}

/** With a file of it changed. */
export function altered(files: Files, name: string, change: (text: string) => string): Files {
  const before = String(files[name]);
  const after = change(before);
  if (after === before) throw new Error(`nothing of ${name} was changed`);
  return { ...files, [name]: after };
}

/** A copy of an archive with changed JSON. */
export function restated(files: Files, name: string, change: (thing: Thing) => void): Files {
  const thing = JSON.parse(String(files[name]));
  change(thing);
  return { ...files, [name]: `${JSON.stringify(thing, null, name === 'manifest.json' ? 2 : 0)}\n` };
}

/** An export with a file of it changed, and its manifest as if it had always been so. */
export function forged(files: Files, name: string, change: (text: string) => string): Files {
  const made = altered(files, name, change);
  const text = String(made[name]);
  return restated(made, 'manifest.json', (manifest) => {
    const about = manifest.source?.file === name ? manifest.source : manifest;
    Object.assign(about, { bytes: Buffer.byteLength(text), sha256: hexOf(text) });
  });
}

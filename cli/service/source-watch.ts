import { type FSWatcher, readFileSync, watch } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ModuleSources } from '../../server/settings/modules.ts';

/** The modules that were read last. `isWrong`: they do not make a configuration, so another file may be missing. */
type ReadSources = { sources: ModuleSources; isWrong: boolean };

/** The texts of files, by their paths; null for a missing file. */
export type FileTexts = ReadonlyMap<string, Buffer | null>;

/** An editor writes a file in several steps. */
const settleMilliseconds = 100;

/**
 * Watches the files of a configuration, by their folders, since editors replace files. Calls `run` when the text of a
 * file differs from the text that was read; also at once, for a file that was saved before the watch began. When a call
 * is over, the next one may follow. Each text leads to one call, also if it cannot be read because of a syntax error.
 *
 * @param looked the texts of the files before the last attempt to read them.
 * @returns ends the watch.
 */
export function watchSources(
  seen: () => ReadSources,
  run: () => Promise<void>,
  looked: FileTexts = new Map(),
): () => void {
  const watchers = new Map<string, FSWatcher>();
  let told = looked;
  let isRunning = false;
  let isClosed = false;

  function follow(): void {
    const folders = new Set(filesOf(seen()).map(([file]) => dirname(file)));
    for (const folder of folders) {
      if (watchers.has(folder)) continue;
      const watcher = watch(folder, (_event, name) => noticed(name === null ? null : join(folder, name)));
      watcher.on('error', () => watcher.close());
      watchers.set(folder, watcher);
    }
  }

  function noticed(file: string | null): void {
    const { sources, isWrong } = seen();
    const isKnown = file === null || filesOf({ sources }).some(([known]) => known === file);
    if (isClosed || isRunning || !(isKnown || (isWrong && isModule(file)))) return;
    clearTimeout(timer);
    timer = setTimeout(() => look(!isKnown), settleMilliseconds);
  }

  async function look(isNew: boolean): Promise<void> {
    if (isRunning || isClosed) return;
    const { sources } = seen();
    const now = textsOf(sources);
    const isOther = filesOf({ sources }).some(([file, read]) => {
      const text = now.get(file) ?? null;
      return !isText(text, read) && !(told.has(file) && isSame(text, told.get(file) ?? null));
    });
    if (!(isNew || isOther)) return;
    told = now;
    isRunning = true;
    try {
      await run();
    } finally {
      isRunning = false;
      if (!isClosed) {
        follow();
        // It may have been saved once more meanwhile.
        timer = setTimeout(() => look(false), settleMilliseconds);
      }
    }
  }

  follow();
  let timer = setTimeout(() => look(false), settleMilliseconds);
  return () => {
    isClosed = true;
    clearTimeout(timer);
    for (const watcher of watchers.values()) watcher.close();
  };
}

type File = [path: string, text: string | Uint8Array];

function filesOf({ sources }: Pick<ReadSources, 'sources'>): File[] {
  return [...sources].map(([address, { source }]) => [fileURLToPath(address), source]);
}

function isModule(file: string): boolean {
  return /\.(?:[cm]?[jt]s|json)$/.test(file);
}

/** The texts that the files of these modules have now. */
export function textsOf(sources: ModuleSources): FileTexts {
  return new Map(filesOf({ sources }).map(([file]) => [file, textIn(file)]));
}

/** A file that is missing is about to be replaced, or is gone. */
function textIn(file: string): Buffer | null {
  try {
    return readFileSync(file);
  } catch {
    return null;
  }
}

function isText(now: Buffer | null, read: string | Uint8Array): boolean {
  if (now === null) return false;
  return typeof read === 'string' ? now.toString('utf8') === read : now.equals(read);
}

function isSame(one: Buffer | null, other: Buffer | null): boolean {
  return one === null || other === null ? one === other : one.equals(other);
}

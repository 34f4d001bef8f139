import { type FSWatcher, readFileSync, watch } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Sources } from '../settings/modules.ts';

/** The modules that were read last. `isWrong`: they do not make a configuration, so another file may be missing. */
export type Seen = { sources: Sources; isWrong: boolean };

/** An editor writes a file in several steps. */
const settleMilliseconds = 100;

/**
 * Watches the files of a configuration by their folders, for editors replace files. Calls `run` when the text of one is another than the
 * one that was read; when a call is over, the next one may follow.
 *
 * @returns ends the watch.
 */
export function watchSources(seen: () => Seen, run: () => Promise<void>): () => void {
  const watchers = new Map<string, FSWatcher>();
  let timer: NodeJS.Timeout | undefined;
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
    if (isRunning || isClosed || !(isNew || filesOf(seen()).some(isOther))) return;
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
  return () => {
    isClosed = true;
    clearTimeout(timer);
    for (const watcher of watchers.values()) watcher.close();
  };
}

type File = [path: string, text: string | Uint8Array];

function filesOf({ sources }: Pick<Seen, 'sources'>): File[] {
  return [...sources].map(([address, { source }]) => [fileURLToPath(address), source]);
}

function isModule(file: string): boolean {
  return /\.(?:[cm]?[jt]s|json)$/.test(file);
}

/** A file that is missing is about to be replaced, or is gone: then it is told of when it is missed. */
function isOther([file, text]: File): boolean {
  try {
    const now = readFileSync(file);
    return typeof text === 'string' ? now.toString('utf8') !== text : !now.equals(text);
  } catch {
    return true;
  }
}

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Which of some texts stand in any file of a folder, in whatever case, with the names of the files. Texts of ASCII: so their bytes
 * are the same in UTF-8, in JSON and in a page of SQLite.
 */
export function remainsIn(folder: string, texts: readonly string[]): string[] {
  const sought = texts.map((text) => text.toLowerCase());
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .flatMap(({ parentPath, name }) => {
      const bytes = contentOf(join(parentPath, name)).toString('latin1').toLowerCase();
      return sought.filter((text) => bytes.includes(text)).map((text) => `${name}: ${text}`);
    });
}

/** A service beside this may have removed the file just now. */
function contentOf(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return Buffer.alloc(0);
    throw error;
  }
}

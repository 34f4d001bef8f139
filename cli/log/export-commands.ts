import { acceptClock, bucket, type CliCommand, calls, command, moments, streams } from '../command.ts';
import { bundleFlags, contentExportFlags, exportFlags, importFlags } from '../flags.ts';

const since = `  --since SIZE    also prove that the log extends an earlier checkpoint of this size; can be repeated`;

/** The commands that write what others read or check, and that read it again. */
export const exportCommands: Record<string, CliCommand> = {
  export: command({
    summary: 'save a range of the log with its proofs',
    usage: `annals export --out FILE.zip [--from P|TIME] [--to P|TIME] [--format F] [--force]
              [--config FILE] [--data DIR] [--accept-clock]

Saves a ZIP archive: the events, a manifest with their SHA-256 and proofs, a README, and annals-verify.mjs, which checks the
archive anywhere. The log records the export with its author, time and range.

  --out FILE.zip  the archive
  --force         replace the archive if it exists
  --from, --to    the range, both ends included:
                  ${moments}
                  (default: the whole log)
  --format F      ndjson (default; the exact texts), csv (for spreadsheets) or cloudevents; the latter two come with the
                  ndjson, which the proofs are about
  --collection C, --stream S, --type T[,T]…, --actor A
                  only matching events. The archive then proves each event, but not that it contains all of them
${since}
  --reason TEXT   the reason, for the log
${calls}`,
    settings: ['config', 'data', 'acceptClock'],
    flags: exportFlags,
    run: async (given) => (await import('./exports.ts')).exportLog(given),
  }),
  bundle: command({
    summary: 'save an evidence pack: one document with all its versions and proofs',
    usage: `annals bundle COLLECTION/ID --out FILE.zip [--no-files] [--complete] [--since SIZE]… [--force]
              [--reason TEXT] [--config FILE] [--data DIR] [--accept-clock]

Saves a ZIP archive: a summary to read or print, the exact texts of all versions with proofs, the uploaded files, a README, and
annals-verify.mjs, which checks the archive anywhere. Includes deleted documents. The log records the pack with its author and
time. ${streams}

  --out FILE.zip  the archive
  --force         replace the archive if it exists
  --no-files      leave out the uploaded files
  --complete      prove that there is no later version, however many events follow (default: up to 1000)
${since}
  --reason TEXT   the reason, for the log
${calls}`,
    settings: ['config', 'data', 'acceptClock'],
    flags: bundleFlags,
    words: ['COLLECTION/ID'],
    run: async (given) => (await import('./exports.ts')).saveBundle(given),
  }),
  'export content': command({
    summary: 'write documents, globals and files, to read or to import elsewhere',
    usage: `annals export content [COLLECTION…] --out FOLDER|FILE|- [--format F] [--as-of MOMENT] [--no-files] [--fields F,…]
              [--where JSON [--config FILE] [--accept-clock]] [--data DIR]

Writes all collections and globals that have been written, or the named ones (globals/SLUG, or globals for all of these). Reads the
log of the data directory, also while a service runs, and records nothing. Documents are written as they are stored: no hook changes
them. There are no passwords in it. See docs/import-export.md

  --out FOLDER    a new or empty folder, which annals import takes
  --out FILE, -   the documents of one collection, in a new file that ends with .ndjson, .csv or .json, or on standard output
  --format F      ndjson (default), csv or json
  --as-of MOMENT  documents as they were then, by the names of the fields today:
                  ${moments}
  --no-files      leave out the uploaded files
  --fields F,…    only these fields, and the id; for a file or standard output
  --where JSON    of one collection, only the documents that meet a filter such as {"status":{"equals":"draft"}}. A running
                  service finds them; without one, the command opens the data directory itself, with the --config of it
${acceptClock}

${bucket}

Exit codes: 0 exported. 1 exported, without files that the store does not have, one per line. 2 wrong usage, or could not run.`,
    settings: ['config', 'data', 'acceptClock'],
    flags: contentExportFlags,
    words: ['[COLLECTION…]'],
    run: async (given) => (await import('../content/export.ts')).exportContent(given),
  }),
  import: command({
    summary: 'import the rows of a file into a collection, or an export',
    usage: `annals import COLLECTION FILE [--format F] [--upsert FIELD] [--draft] [--dry-run] [--files DIR] [--state FILE]
              [--reason TEXT] [--config FILE] [--data DIR] [--accept-clock]
annals import FOLDER [--draft] [--dry-run] [--drop-missing] [--state FILE]
              [--reason TEXT] [--config FILE] [--data DIR] [--accept-clock]

Each row is written by the service, with all its checks and hooks. A row that is refused is printed with its number and each
wrong field; the others are imported. The same command resumes an import, and imports no row twice. FOLDER is one that annals export
content wrote: documents get new ids, and relationships follow them. See docs/import-export.md

  --format F      ndjson, csv or json (default: by the end of the file name)
  --upsert FIELD  update the document that has the row's value of this unique field, if there is one
  --draft         save the rows as drafts, where there are drafts: nothing becomes public
  --dry-run       check the rows, and write nothing; hooks do not run
  --drop-missing  leave out relationships to documents that neither the export nor the service has; each is printed
  --files DIR     the folder below which the files of an upload collection are, by the paths in "file"
  --state FILE    the record of the import, with the ids of the rows (default: FILE.imported or FOLDER.imported)
  --reason TEXT   the reason, for the log
${calls}`,
    settings: ['config', 'data', 'acceptClock'],
    flags: importFlags,
    words: ['COLLECTION or FOLDER', '[FILE]'],
    run: async (given) => (await import('../content/import.ts')).importContent(given),
  }),
};

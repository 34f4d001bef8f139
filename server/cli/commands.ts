import { createUser, revokeSessions, unlock } from './accounts.ts';
import { backupCommands, verifyEither } from './backup/commands.ts';
import { collectBlobs, verifyBlobs } from './blobs.ts';
import { correct } from './clock.ts';
import { acceptClock, type Command, calls, moments, streams } from './command.ts';
import { configCheck } from './config-check.ts';
import { exportContent } from './content/export.ts';
import { importContent } from './content/import.ts';
import { rebuild } from './data.ts';
import { dev } from './dev.ts';
import { doctor } from './doctor/doctor.ts';
import { erase } from './erase.ts';
import { exportLog, saveBundle } from './exports.ts';
import { health } from './health.ts';
import { init } from './init.ts';
import { keyCommands } from './key-commands.ts';
import { logCommands } from './log-commands.ts';
import { reload } from './reload.ts';
import { serve } from './serve.ts';
import { replaceKey, rotateKey } from './signing-key.ts';
import { writeTypes } from './types.ts';
import { printVersion } from './version.ts';

const bucket = `Uploaded files are in the folder "blobs" of the data directory, or in an S3 bucket: ANNALS_S3_ENDPOINT, ANNALS_S3_BUCKET,
ANNALS_S3_ACCESS_KEY, ANNALS_S3_SECRET_KEY, and optionally ANNALS_S3_REGION (default: us-east-1) and ANNALS_S3_PATH_STYLE
(true, the default, or false).`;

const sameBucket = `${bucket} Use the settings of the service.`;

const since = `  --since SIZE    also prove that the log extends an earlier checkpoint of this size; can be repeated`;

/** All commands, in the order of the list that `annals help` prints. */
export const commands: Record<string, Command> = {
  init: {
    summary: 'write a configuration to begin with',
    usage: `annals init

Writes into this directory annals.config.ts, annals.d.ts (the types of a configuration, for editors; not where the npm package
is installed), tsconfig.json and .gitignore. Replaces no file: if one of them, or another configuration, exists, writes none.

Exit codes: 0 written. 2 a file exists, wrong usage, or could not run.`,
    isForAllSites: true,
    run: init,
  },
  serve: {
    summary: 'run the service',
    usage: `annals serve [--config FILE] [--data DIR] [--host H] [--port N] [--threads N] [--drain-seconds N] [--strict-schema] [--accept-clock]

  --config FILE    configuration (default: annals.config.ts here; in a checkout, else the example)
  --data DIR       data directory (default: ./data)
  --host H         address to listen on (default: 127.0.0.1)
  --port N         port to listen on; 0 takes a free one (default: 4000)
  --threads N      workers that answer requests (default: one per core on Linux, elsewhere 1)
  --drain-seconds N
                   answer requests for so long after SIGTERM, while /ready answers 503 (default: 0)
  --strict-schema  refuse a configuration that changes the answers for existing documents; annals config check
                   --against DIR lists such changes beforehand
  --accept-clock   start even if the clock is more than a day behind the last event; recorded times stand still until
                   it catches up

Environment. Each variable can also be read from a file, named by the variable with the suffix _FILE.

  ANNALS_CONFIG, ANNALS_DATA, ANNALS_HOST, ANNALS_PORT, ANNALS_THREADS, ANNALS_DRAIN_SECONDS, ANNALS_STRICT_SCHEMA,
  ANNALS_ACCEPT_CLOCK
                             the same as the flags; the last two are true or false
  ANNALS_BASE_URL            address under which clients reach the service
  ANNALS_API_KEY             API keys, separated by commas (default: generated)
  ANNALS_SECRET              secrets that sign tokens, separated by commas; the first signs (default: generated)
  ANNALS_LOG_LEVEL           fatal, error, warn, info, debug or silent (default: info)
  ANNALS_SMTP_URL            mail server; ANNALS_MAIL_FROM is the sender
  ANNALS_CHECKPOINT_WEBHOOK  address that each signed checkpoint is posted to; ANNALS_CHECKPOINT_WEBHOOK_ALLOW_PRIVATE=true
                             allows one that is not public
  ANNALS_WITNESSES           witnesses that cosign checkpoints: VERIFIER-KEY=URL, separated by commas
  ANNALS_TSA_URL             time-stamp authority (RFC 3161); ANNALS_TSA_CA are the certificates to trust, in PEM
  ANNALS_METRICS_TOKEN       token of /metrics, for Prometheus; ANNALS_METRICS_ADDRESS is host:port to serve it there
  ANNALS_VERIFY_PERCENT      share of one core for the background verification of the log (default: 3)
  ANNALS_SITES               JSON file of several sites to serve, each with its own data and keys; --data is then the
                             parent directory of their data. See docs/cloud.md

${bucket}
ANNALS_S3_CHECKPOINT_DAYS is the number of days for which Object Lock protects each checkpoint in that bucket.`,
    isForAllSites: true,
    run: serve,
  },
  dev: {
    summary: 'run the service, and reload the configuration when it is saved',
    usage: `annals dev [--config FILE] [--data DIR] [--host H] [--port N] [--threads N] [--strict-schema] [--accept-clock]

Takes the flags and the environment of annals serve. Watches the file of the configuration and the files that it imports, packages
excepted. When one is saved, does what annals reload does, and prints one line. Where a restart is needed, restarts the service, with
the same port and data. A configuration that is wrong changes nothing, and its error is printed.

Exit codes: 0 stopped. 2 wrong usage, or could not start.`,
    run: dev,
  },
  reload: {
    summary: 'have the running service read its configuration again',
    usage: `annals reload [--data DIR]

The service loads and checks the configuration, then goes on with it: rules, hooks, validation, defaults, labels, mail, CORS, limits. No
request fails. The log records changed rules as a restart does. A configuration that is wrong, or that changes how documents are stored
(collections, fields, indexes, unique values), changes nothing: the reasons are printed. SIGHUP has the same effect, with the result in
the log of the service. Settings, which are flags and environment variables, are not read again.

Exit codes: 0 reloaded. 1 refused, one reason per line. 2 no service runs, wrong usage, or could not run.`,
    run: reload,
  },
  health: {
    summary: 'ask the running service whether it is ready',
    usage: `annals health [--data DIR]

Finds the address of the service that works on the data directory, and asks it for /ready. Prints one line. Needs the same user as
the service, and changes nothing. Of several sites (ANNALS_SITES) it asks for the whole process.

Exit codes: 0 ready. 1 not ready (it starts, stops, or refuses writes), or no service runs. 2 wrong usage.`,
    isForAllSites: true,
    run: health,
  },
  doctor: {
    summary: 'check the machine, the data directory and the settings of a service',
    usage: `annals doctor [--config FILE] [--data DIR] [--json]

Checks room on the disk, the time of an fsync, the file system, the clock, that vault.db is that of the log, that the newest
checkpoint was copied, modes of files, the limit of open files, the length of secrets, the base URL, and the login to the mail
server. Also works while a service runs. Writes and removes one small file in the data directory, and sends no mail. Run it as
the user of the service, with its settings. annals verify checks the log itself.

  --json  print one JSON object: isHealthy, and findings with check, status (ok, note, trouble) and message

Exit codes: 0 healthy. 1 something is to be mended: a line begins with "trouble". 2 wrong usage, or could not run.`,
    run: doctor,
  },
  verify: {
    summary: 'check the log, and that the read tables equal a replay of it',
    usage: `annals verify [--config FILE] [--data DIR]
       annals verify BACKUP [--identity FILE] [--s3 FILE]

Reads the whole log and checks positions, versions, times, the Merkle tree, the commitments to all payloads, and the claims.
Replays it and compares the read tables row by row. Checks it against every signed checkpoint: those of the signing key, in
the log and in the store of uploaded files. Names the keys that were disowned. If vault.db exists, its key must have sealed
the head of the log, and all password hashes must be those that were set. The last line says how many events are signed, by
which key, and whether uploaded files remain to be checked. Changes nothing, and also works while a service runs.

BACKUP is a file of annals backup, which is then checked in the same way, with the uploaded files in it.

${sameBucket}

Exit codes: 0 sound. 1 tampered with or different; the first bad event is named. 2 could not run, could not check
everything, a log older than a minute has no signature by a known key, or only vault.db says that a key was disowned.`,
    run: verifyEither,
  },
  rebuild: {
    summary: 'rebuild the read tables from the log',
    usage: `annals rebuild [--config FILE] [--data DIR] [--check] [--accept-lost-events] [--accept-foreign-writes] [--reason TEXT]
               [--strict-schema] [--accept-clock]

  --check                  compare the read tables with a replay, and change nothing; exit code 0 equal, 1 different
  --accept-lost-events     continue with a log that is shorter than the read tables (a restored backup, a damaged
                           disk). A signing key that signed the lost events is disowned, as the log then records; give
                           the new key, which is printed, to your auditors
  --accept-foreign-writes  continue with a log that the key of vault.db has not sealed, because vault.db is lost or
                           another program wrote to log.db. Prints which events no key of vault.db has signed, as the
                           log then records. Creates vault.db if it is missing
  --reason TEXT            the reason for either, which the log keeps forever; required with them
  --strict-schema          refuse a configuration that changes the answers for existing documents
  --accept-clock           run even if the clock is more than a day behind the last event`,
    run: rebuild,
  },
  ...backupCommands,
  'clock correct': {
    summary: 'return to right times after the clock was wrong',
    usage: `annals clock correct --today DAY --reason TEXT [--data DIR]

Recorded times never go back, so after a jump of the clock all events have the time of the jump. This command records a
correction: later events have right times again. Earlier events keep theirs, and count as recorded now in a query by time.
All proofs stay valid. Stop the service first, and set the clock of this machine.

  --today DAY    the present day in UTC, such as 2026-11-23, from a source other than this machine
  --reason TEXT  the reason, which the log keeps forever

Exit codes: 0 recorded. 1 nothing to correct, or the clock is still wrong. 2 wrong usage, or could not run.`,
    run: correct,
  },
  ...logCommands,
  'signing-key rotate': {
    summary: 'hand the signing of the log over to a new key',
    usage: `annals signing-key rotate --reason TEXT [--data DIR]

Makes a new key, to which the old one hands over: both sign the hand-over, and the log records it. annals-verify follows it, so
auditors can keep the key that they have. Use replace instead if the old key may be known to others: a thief of it could
have signed a hand-over as well. Stop the service first.

  --reason TEXT  the reason, which the log keeps forever

Exit codes: 0 rotated. 2 wrong usage, or could not run.`,
    run: rotateKey,
  },
  'signing-key replace': {
    summary: 'replace the signing key, without a hand-over',
    usage: `annals signing-key replace --reason TEXT [--data DIR]

Use it if the key may be known to others. Earlier signatures stay valid. The log records the replacement, with the new key and
the reason. Give the new key, which is printed, to your auditors. Stop the service first.

  --reason TEXT  the reason, which the log keeps forever

Exit codes: 0 replaced. 2 wrong usage, or could not run.`,
    run: replaceKey,
  },
  'blobs gc': {
    summary: 'remove uploaded files that no event names',
    usage: `annals blobs gc [--data DIR] [--dry-run] [--names]

Garbage collection. Removes the files of uploads that were refused or interrupted after their bytes had been stored. All
versions of a document, also of a deleted one, keep their files. A running service carries the removal out, so files of uploads
in progress stay.

  --dry-run  print the files that would be removed, and change nothing
  --names    print the SHA-256 of each file

${sameBucket}

Exit codes: 0 done. 1 refused. 2 wrong usage, or could not run.`,
    run: collectBlobs,
  },
  'blobs verify': {
    summary: 'check that all uploaded files exist and are unaltered',
    usage: `annals blobs verify [--data DIR] [--record --reason TEXT [--config FILE] [--accept-clock]]

Reads every stored file and compares its SHA-256 with its name, then looks for files that a version needs but the store lacks.
Prints each missing or altered file with the first version that needs it; the last line names the first of them. Also works
while a service runs. Changes nothing without --record.

  --record        record as events, through the service, which files are lost, and which lost files were found again. Each
                  is recorded once; erased files are not
  --reason TEXT   the reason, 1 to 500 characters. The log keeps it forever, so it must not contain personal data
${acceptClock}; with --record

${sameBucket}

Exit codes: 0 sound. 1 a file is missing or altered. 2 wrong usage, or could not run.`,
    run: verifyBlobs,
  },
  export: {
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
    run: exportLog,
  },
  bundle: {
    summary: 'save an evidence pack: one document with all its versions and proofs',
    usage: `annals bundle COLLECTION/ID --out FILE.zip [--no-files] [--complete] [--since SIZE]… [--force]
              [--config FILE] [--data DIR] [--accept-clock]

Saves a ZIP archive: a summary to read or print, the exact texts of all versions with proofs, the uploaded files, a README, and
annals-verify.mjs, which checks the archive anywhere. Includes deleted documents. ${streams}

  --out FILE.zip  the archive
  --force         replace the archive if it exists
  --no-files      leave out the uploaded files
  --complete      prove that there is no later version, however many events follow (default: up to 1000)
${since}
${calls}`,
    run: saveBundle,
  },
  'export content': {
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
    run: exportContent,
  },
  import: {
    summary: 'import the rows of a file into a collection, or an export',
    usage: `annals import COLLECTION FILE [--format F] [--upsert FIELD] [--dry-run] [--files DIR] [--state FILE]
              [--reason TEXT] [--config FILE] [--data DIR] [--accept-clock]
annals import FOLDER [--dry-run] [--drop-missing] [--state FILE]
              [--reason TEXT] [--config FILE] [--data DIR] [--accept-clock]

Each row is written by the service, with all its checks and hooks. A row that is refused is printed with its number and each
wrong field; the others are imported. The same command resumes an import, and imports no row twice. FOLDER is one that annals export
content wrote: documents get new ids, and relationships follow them. See docs/import-export.md

  --format F      ndjson, csv or json (default: by the end of the file name)
  --upsert FIELD  update the document that has the row's value of this unique field, if there is one
  --dry-run       check the rows, and write nothing; hooks do not run
  --drop-missing  leave out relationships to documents that neither the export nor the service has; each is printed
  --files DIR     the folder below which the files of an upload collection are, by the paths in "file"
  --state FILE    the record of the import, with the ids of the rows (default: FILE.imported or FOLDER.imported)
  --reason TEXT   the reason, for the log
${calls}`,
    run: importContent,
  },
  'config check': {
    summary: 'check a configuration and print every problem',
    usage: `annals config check [--config FILE] [--rules] [--against DIR] [--strict-schema] [--site ID]

  --rules          also print the rules and hooks, with the SHA-256 of the text and the description that the log records
  --against DIR    also print what a start with this data directory would change for its documents, or refuse. Changes
                   nothing, and also works while a service runs
  --strict-schema  with --against: treat such changes as problems, as annals serve --strict-schema does
  --site ID        check only this site; by default the file of sites (ANNALS_SITES) and the configurations of all sites are
                   checked`,
    isForAllSites: true,
    run: configCheck,
  },
  types: {
    summary: 'write the TypeScript types of the API, for clients without access to the configuration',
    usage: `annals types [--config FILE] [--out FILE] [--check]

Writes an interface for each kind of document and body, and the type Annals for createClient<Annals>(…). Clients that can import
the configuration get the same types from createClient<typeof config>(…). Reads the configuration only.

  --out FILE  the file (default: standard output); an existing file is replaced only if this command wrote it
  --check     change nothing; exit code 1 if FILE is not up to date

Exit codes: 0 done, or up to date. 1 not up to date, with --check. 2 wrong usage, or could not run.`,
    run: writeTypes,
  },
  'create-user': {
    summary: 'create a user who can log in',
    usage: `annals create-user COLLECTION --email E [--field NAME=VALUE]… [--config FILE] [--data DIR] [--accept-clock]

Asks twice for the password and does not show it; without a terminal, reads it from the first line of standard input. It is
never an argument. Prints the id of the user.

  --email E           the e-mail address to log in with
  --field NAME=VALUE  the value of another field; can be repeated. Texts, numbers, true, false and ids are written as they
                      are; lists, objects, richText and json as JSON: --field 'tags=["a","b"]'
${calls}`,
    run: createUser,
  },
  erase: {
    summary: 'erase a document, its history and everything derived from it',
    usage: `annals erase COLLECTION/ID --reason TEXT [--dry-run] [--yes] [--config FILE] [--data DIR] [--accept-clock]

Erases the content of a document from the log and everything derived from it: versions, unique values, the account with its
logins and sessions, invitations, waiting mails, and files that nothing else needs. A document that exists is deleted. The log
keeps the time and author of each version, and the erasure with its reason; all proofs stay valid. Backups and earlier exports
are not changed.

  --reason TEXT   the reason, which the log keeps forever, so it should not contain personal data
  --dry-run       print what would be erased, and change nothing
  --yes           do not ask for confirmation; without a terminal nothing is asked
${calls}`,
    run: erase,
  },
  unlock: {
    summary: 'unlock an account after too many failed logins',
    usage: `annals unlock COLLECTION --email E [--config FILE] [--data DIR] [--accept-clock]

Ends the lock of the account, and resets its count of failed logins.

${calls}`,
    run: unlock,
  },
  'sessions revoke': {
    summary: 'end the sessions of an account',
    usage: `annals sessions revoke COLLECTION --email E [--session SID] [--config FILE] [--data DIR] [--accept-clock]

Logs the account out at once, everywhere. Its password stays valid.

  --session SID   end only this session
${calls}`,
    run: revokeSessions,
  },
  version: {
    summary: 'print the version',
    usage: `annals --version [--json]

  --json  print one JSON object: version; commit, null if unknown or if its sources were changed; installation (binary, package
          or checkout); node and sqlite, their versions; platform and arch, as Node names them

Exit codes: 0 done. 2 wrong usage.`,
    isForAllSites: true,
    run: async (args) => printVersion(args),
  },
  ...keyCommands,
};

import { keyCommands } from './accounts/key-commands.ts';
import { backupCommands, verify } from './backup/commands.ts';
import { acceptClock, type CliCommand, calls, command, sameBucket } from './command.ts';
import { configCheckFlags, rebuildFlags, verifyBlobsFlags } from './flags.ts';
import { exportCommands } from './log/export-commands.ts';
import { logCommands } from './log/log-commands.ts';
import { nodeCommands } from './service/node-commands.ts';
import { serviceCommands } from './service/service-commands.ts';

/** The usage of the commands that change the signing key, about nodes. */
const keysOfNodes = `Of a log in PostgreSQL (ANNALS_POSTGRES_URL) the running node carries the command out, and all nodes go on with the new key. Without one, the
command runs as a node for the moment, with --config as the nodes have it. Otherwise --config is not looked at.`;

/**
 * All commands, in the order of the list that `annals help` prints. To add one, write an entry here or in the table of
 * its room, the function that it runs, and a row in docs/operations.md. test/cli/commands.test.ts names missing places.
 */
export const commands: Record<string, CliCommand> = {
  ...serviceCommands,
  verify,
  rebuild: command({
    summary: 'rebuild the read tables from the log',
    usage: `annals rebuild [--config FILE] [--data DIR] [--check] [--accept-lost-events] [--accept-foreign-writes] [--reason TEXT]
               [--strict-schema] [--accept-loss] [--accept-clock] [--no-backup]

  --check                  compare the read tables with a replay, and change nothing; exit code 0 equal, 1 different
  --accept-lost-events     continue with a log that is shorter than the read tables (a restored backup, a damaged
                           disk). A signing key that signed the lost events is disowned, as the log then records; give
                           the new key, which is printed, to your auditors
  --accept-foreign-writes  continue with a log that the key of vault.db has not sealed, because vault.db is lost or
                           another program wrote to log.db. Prints which events no key of vault.db has signed, as the
                           log then records. Creates vault.db if it is missing
  --reason TEXT            the reason for either, which the log keeps forever; required with them
  --strict-schema          refuse a configuration that changes the answers for existing documents
  --accept-loss            accept a configuration by which documents show less than before
  --accept-clock           run even if the clock is more than a day behind the last event
  --no-backup              if this version changes the format of the log, do not make a backup in the data directory first`,
    settings: ['config', 'data', 'strictSchema', 'acceptLoss', 'acceptClock', 'noBackup'],
    flags: rebuildFlags,
    run: async (given) => (await import('./log/rebuild.ts')).rebuild(given),
  }),
  ...backupCommands,
  'clock correct': command({
    summary: 'return to right times after the clock was wrong',
    usage: `annals clock correct --today DAY --reason TEXT [--data DIR]

Recorded times never go back, so after a jump of the clock all events have the time of the jump. This command records a
correction: later events have right times again. Earlier events keep theirs, and count as recorded now in a query by time.
All proofs stay valid. Stop the service first, and set the clock of this machine.

  --today DAY    the present day in UTC, such as 2026-11-23, from a source other than this machine
  --reason TEXT  the reason, which the log keeps forever

Exit codes: 0 recorded. 1 nothing to correct, or the clock is still wrong. 2 wrong usage, or could not run.`,
    settings: ['data'],
    flags: { today: 'string', reason: 'string' },
    run: async (given) => (await import('./log/clock.ts')).correct(given),
  }),
  ...logCommands,
  'signing-key rotate': command({
    summary: 'hand the signing of the log over to a new key',
    usage: `annals signing-key rotate --reason TEXT [--config FILE] [--data DIR] [--accept-clock]

Makes a new key, to which the old one hands over: both sign the hand-over, and the log records it. annals-verify follows it, so
auditors can keep the key that they have. Use replace instead if the old key may be known to others: a thief of it could
have signed a hand-over as well. Stop the service first.

${keysOfNodes}

  --reason TEXT   the reason, which the log keeps forever
${acceptClock}

Exit codes: 0 rotated. 1 refused, one reason per line. 2 wrong usage, or could not run.`,
    settings: ['config', 'data', 'acceptClock'],
    flags: { reason: 'string' },
    run: async (given) => (await import('./log/signing-key.ts')).rotateKey(given),
  }),
  'signing-key replace': command({
    summary: 'replace the signing key, without a hand-over',
    usage: `annals signing-key replace --reason TEXT [--config FILE] [--data DIR] [--accept-clock]

Use it if the key may be known to others. Earlier signatures stay valid. The log records the replacement, with the new key and
the reason. Give the new key, which is printed, to your auditors. Stop the service first.

${keysOfNodes}

  --reason TEXT   the reason, which the log keeps forever
${acceptClock}

Exit codes: 0 replaced. 1 refused, one reason per line. 2 wrong usage, or could not run.`,
    settings: ['config', 'data', 'acceptClock'],
    flags: { reason: 'string' },
    run: async (given) => (await import('./log/signing-key.ts')).replaceKey(given),
  }),
  'blobs gc': command({
    summary: 'remove uploaded files that no event names',
    usage: `annals blobs gc [--data DIR] [--dry-run] [--names]

Garbage collection. Removes the files of uploads that were refused or interrupted after their bytes had been stored. All
versions of a document, also of a deleted one, keep their files. A running service carries the removal out, so files of uploads
in progress stay.

  --dry-run  print the files that would be removed, and change nothing
  --names    print the SHA-256 of each file

${sameBucket}

Exit codes: 0 done. 1 refused. 2 wrong usage, or could not run.`,
    settings: ['data'],
    flags: { 'dry-run': 'boolean', names: 'boolean' },
    run: async (given) => (await import('./log/blobs.ts')).collectBlobs(given),
  }),
  'blobs verify': command({
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
    settings: ['config', 'data', 'acceptClock'],
    flags: verifyBlobsFlags,
    run: async (given) => (await import('./log/blobs.ts')).verifyBlobs(given),
  }),
  ...exportCommands,
  'config check': command({
    summary: 'check a configuration and print every problem',
    usage: `annals config check [--config FILE] [--rules] [--against DIR] [--strict-schema] [--accept-loss] [--site ID]

  --rules          also print the rules and hooks, with the SHA-256 of the text and the description that the log records
  --against DIR    also print what a start with this data directory would change for its documents, or refuse. Changes
                   nothing, and also works while a service runs
  --strict-schema  with --against: treat such changes as problems, as annals serve --strict-schema does
  --accept-loss    with --against: treat losses as changes, as annals serve --accept-loss does
  --site ID        check only this site; by default the file of sites (ANNALS_SITES) and the configurations of all sites are
                   checked`,
    settings: ['config', 'strictSchema', 'acceptLoss', 'sites'],
    flags: configCheckFlags,
    run: async (given) => (await import('./service/config-check.ts')).configCheck(given),
  }),
  types: command({
    summary: 'write the TypeScript types of the API, for clients without access to the configuration',
    usage: `annals types [--config FILE] [--out FILE] [--check]

Writes an interface for each kind of document and body, and the type Annals for createClient<Annals>(…). Clients that can import
the configuration get the same types from createClient<typeof config>(…). Reads the configuration only.

  --out FILE  the file (default: standard output); an existing file is replaced only if this command wrote it
  --check     change nothing; exit code 1 if FILE is not up to date

Exit codes: 0 done, or up to date. 1 not up to date, with --check. 2 wrong usage, or could not run.`,
    settings: ['config'],
    flags: { out: 'string', check: 'boolean' },
    run: async (given) => (await import('./service/types.ts')).writeTypes(given),
  }),
  'create-user': command({
    summary: 'create a user who can log in',
    usage: `annals create-user COLLECTION --email E [--field NAME=VALUE]… [--config FILE] [--data DIR] [--accept-clock]

Asks twice for the password and does not show it; without a terminal, reads it from the first line of standard input. It is
never an argument. Prints the id of the user.

  --email E           the e-mail address to log in with
  --field NAME=VALUE  the value of another field; can be repeated. Texts, numbers, true, false and ids are written as they
                      are; lists, objects, richText and json as JSON: --field 'tags=["a","b"]'
${calls}`,
    settings: ['config', 'data', 'acceptClock'],
    flags: { email: 'string', field: 'list' },
    words: ['COLLECTION'],
    refuse: async (args) => (await import('./accounts/accounts.ts')).refusePassword(args),
    run: async (given) => (await import('./accounts/accounts.ts')).createUser(given),
  }),
  'set-password': command({
    summary: 'give an account a new password',
    usage: `annals set-password COLLECTION --email E [--config FILE] [--data DIR] [--accept-clock]

For a forgotten password if no mail is sent. Asks twice for the password and does not show it; without a terminal, reads it from
the first line of standard input. It is never an argument. Ends all sessions of the account, its lock, and the link of a reset.

  --email E       the e-mail address of the account
${calls}`,
    settings: ['config', 'data', 'acceptClock'],
    flags: { email: 'string' },
    words: ['COLLECTION'],
    refuse: async (args) => (await import('./accounts/accounts.ts')).refusePassword(args),
    run: async (given) => (await import('./accounts/accounts.ts')).setPassword(given),
  }),
  users: command({
    summary: 'list the users, with their e-mail addresses, locks and last logins',
    usage: `annals users [COLLECTION] [--json] [--config FILE] [--data DIR] [--accept-clock]

Lists the accounts of a collection, or of all, oldest first. Records nothing.

  --json          print one JSON object: users, each with id, email, collection, createdAt, locked, lockedUntil, failures (counted
                  failed logins), lastLoginAt, hasPassword, and sessions, how many go on
${calls}`,
    settings: ['config', 'data', 'acceptClock'],
    flags: { json: 'boolean' },
    words: ['[COLLECTION]'],
    run: async (given, environment) => (await import('./accounts/users.ts')).listUsers(given, environment),
  }),
  erase: command({
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
    settings: ['config', 'data', 'acceptClock'],
    flags: { reason: 'string', 'dry-run': 'boolean', yes: 'boolean' },
    words: ['COLLECTION/ID'],
    run: async (given) => (await import('./accounts/erase.ts')).erase(given),
  }),
  unlock: command({
    summary: 'unlock an account after too many failed logins',
    usage: `annals unlock COLLECTION --email E [--config FILE] [--data DIR] [--accept-clock]

Ends the lock of the account, and resets its count of failed logins.

${calls}`,
    settings: ['config', 'data', 'acceptClock'],
    flags: { email: 'string' },
    words: ['COLLECTION'],
    run: async (given) => (await import('./accounts/accounts.ts')).unlock(given),
  }),
  'sessions revoke': command({
    summary: 'end the sessions of an account',
    usage: `annals sessions revoke COLLECTION --email E [--session SID] [--config FILE] [--data DIR] [--accept-clock]

Logs the account out at once, everywhere. Its password stays valid.

  --session SID   end only this session
${calls}`,
    settings: ['config', 'data', 'acceptClock'],
    flags: { email: 'string', session: 'string' },
    words: ['COLLECTION'],
    run: async (given) => (await import('./accounts/accounts.ts')).revokeSessions(given),
  }),
  version: {
    summary: 'print the version',
    usage: `annals --version [--json]

  --json  print one JSON object: version; commit, null if unknown or if its sources were changed; installation (binary, package
          or checkout); node and sqlite, their versions; platform and arch, as Node names them

Exit codes: 0 done. 2 wrong usage.`,
    // Not read with the settings: a wrong environment does not keep the version from being shown.
    isForAllSites: true,
    run: async (args) => (await import('./version.ts')).printVersion(args),
  },
  ...keyCommands,
  ...nodeCommands,
};

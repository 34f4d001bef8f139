import { ConfigError } from '../../config/check.ts';
import { didYouMean } from '../../config/suggest.ts';
import { serviceStreams } from '../../events/catalogue.ts';
import { BlobsRefusedError, BlobsUnavailableError } from '../../storage/blobs.ts';
import { UnwritableError } from '../../storage/data-directory.ts';
import { messageOf } from '../../storage/errors.ts';
import { LockedError } from '../../storage/lock.ts';
import { isDiskFull } from '../../storage/sqlite.ts';
import { adviceOn, advised } from '../platform/advice.ts';
import { version } from '../platform/version.ts';
import { UsageError } from '../settings/settings.ts';
import { StartError } from '../writer/writer.ts';
import { createUser, revokeSessions, unlock } from './accounts.ts';
import { collectBlobs, verifyBlobs } from './blobs.ts';
import { correct } from './clock.ts';
import { configCheck } from './config-check.ts';
import { rebuild, verify } from './data.ts';
import { erase } from './erase.ts';
import { showEvents } from './events.ts';
import { exportLog, saveBundle } from './exports.ts';
import { replaceKey, showKeys } from './keys.ts';
import { showDiff, showHistory, tailLog } from './log.ts';
import { CallError } from './operator.ts';
import { Cancelled } from './password-prompt.ts';
import { serve } from './serve.ts';
import { showAccess, showDocument } from './show.ts';
import { writeTypes } from './types.ts';

type Command = {
  summary: string;
  usage: string;
  /** Whether it is for all of several sites, and not for the one that --site names. */
  isForAllSites?: true;
  run: (args: readonly string[], environment: NodeJS.ProcessEnv) => Promise<number>;
};

const whereItRuns = `
Beside a running service it is that which does it; otherwise the data directory is opened for as long as it takes. Run it
as the user that the service runs as, with its --config and --data. --accept-clock opens it also where the clock is behind the last
event by more than a day.

Exit code 0: done. 1: refused, each reason is on a line of its own. 2: wrong usage, or could not run.`;

const oneSite = `Where one process serves several sites (ANNALS_SITES), --site ID says which is meant: the settings are those that the file
has for it, and --config and --data, where they are given, are its own.`;

const bucketSettings = `Uploaded files are kept in the folder "blobs" of the data directory, or in a bucket of S3 (MinIO and others):
ANNALS_S3_ENDPOINT, ANNALS_S3_BUCKET, ANNALS_S3_ACCESS_KEY, ANNALS_S3_SECRET_KEY, and if need be ANNALS_S3_REGION (default:
us-east-1) and ANNALS_S3_PATH_STYLE (true, the default, or false).`;

const commands: Record<string, Command> = {
  serve: {
    summary: 'run the service',
    usage: `annals serve [--config FILE] [--data DIR] [--host H] [--port N] [--threads N] [--strict-schema] [--accept-clock]

  --config FILE  the configuration (default: annals.config.ts here, in a checkout else the example)
  --data DIR     where everything is kept (default: ./data)
  --host H       address to listen on (default: 127.0.0.1)
  --port N       port to listen on; 0 takes a free one (default: 4000)
  --threads N    threads that answer requests (default: as many as there are cores; on Linux only, elsewhere 1)
  --strict-schema
                 refuse a configuration that changes what documents answer, such as one without a field that some have
                 a value of; annals config check --against DIR says beforehand which do
  --accept-clock
                 start where the clock is behind the last event by more than a day: times stand still then

ANNALS_SITES, a JSON file, has it serve several sites, each with data and keys of its own, and --data is where those are whose
data is nowhere else: docs/cloud.md.

Environment, each also as …_FILE: ANNALS_SITES, ANNALS_CONFIG, ANNALS_DATA, ANNALS_HOST, ANNALS_PORT, ANNALS_THREADS,
ANNALS_STRICT_SCHEMA and ANNALS_ACCEPT_CLOCK (true, or false, the default), ANNALS_BASE_URL, ANNALS_API_KEY and ANNALS_SECRET
(comma-separated lists), ANNALS_SMTP_URL, ANNALS_MAIL_FROM, ANNALS_LOG_LEVEL (fatal, error, warn, info, debug, silent), ANNALS_CHECKPOINT_WEBHOOK (an address to which signed checkpoints are posted),
ANNALS_WITNESSES (a list of VERIFIER-KEY=URL: who cosigns checkpoints), ANNALS_TSA_URL (a time-stamp authority that says when
they were there), ANNALS_TSA_CA (certificates in PEM that vouch for it), ANNALS_VERIFY_PERCENT (how much of one core goes through
the log again and again, 3 by default).

${bucketSettings} ANNALS_S3_CHECKPOINT_DAYS: for so many
days Object Lock keeps each checkpoint in that bucket.`,
    isForAllSites: true,
    run: serve,
  },
  verify: {
    summary: 'check the log and that the read tables equal a replay of it',
    usage: `annals verify [--config FILE] [--data DIR]

Reads the whole log: positions, versions, times, the tree, the commitments to every payload, the claims; then replays it
and compares the read tables row by row. Then holds it against every signed checkpoint: what the signing key signed last, those
that the log keeps, and those beside the uploaded files; names the keys that were disowned. Where vault.db is, its key must have
sealed the head of the log, and the hash of each password must be the one that was set. The last line says how many events are
signed, by which key; that uploaded files were not looked at, if the log names some. Works beside a running service. Nothing is changed.

${bucketSettings} The settings have to be those of the service.

Exit code 0: sound. 1: tampered with or different, the first bad event is named. 2: could not run, could not look at all of it,
nothing of a log older than a minute is signed by a key that is known, or vault.db alone says that a key was
disowned.`,
    run: verify,
  },
  rebuild: {
    summary: 'build the read tables anew from the log',
    usage: `annals rebuild [--config FILE] [--data DIR] [--check] [--accept-lost-events] [--accept-foreign-writes] [--reason TEXT]
               [--strict-schema] [--accept-clock]

  --check               compare the read tables with a replay and change nothing: exit 0 equal, 1 different
  --accept-lost-events  the log is shorter than what the read tables have seen (a restored backup, a damaged disk):
                        go on with the log as it is. A signing key that vouched for what is lost is given up, which the
                        log says from then on: auditors need to know the new one, which is printed
  --accept-foreign-writes
                        the key of vault.db has not sealed the log, for that vault.db is lost, or somebody else wrote to
                        log.db: go on with the log as it is. Says which events no key of vault.db has signed, which the log
                        says from then on too. Makes a vault.db where there is none
  --reason TEXT         why either is accepted, which the log keeps for ever; needed with them
  --strict-schema       refuse a configuration that changes what documents answer
  --accept-clock        go on where the clock is behind the last event by more than a day`,
    run: rebuild,
  },
  'clock correct': {
    summary: 'go on with right times after the clock was wrong',
    usage: `annals clock correct --today DAY --reason TEXT [--data DIR]

What is recorded never goes back in time. So where a clock was ahead, by years for a moment, all that follows has the time of
that moment. This records that the clock was wrong: from there on times are right again, the events before keep theirs, and count
as recorded now where somebody asks what there was at a time. Every proof stays valid. The service must be stopped, and the clock
of this machine right.

  --today DAY    which day it is in UTC, such as 2026-11-23, as you know it and not as this machine does
  --reason TEXT  why; it is kept for ever

Exit code 0: recorded. 1: nothing to correct, or the clock is wrong still. 2: wrong usage, or could not run.`,
    run: correct,
  },
  history: {
    summary: 'show the versions of a document: who, when, why, which fields',
    usage: `annals history COLLECTION/ID [--data DIR] [--json]

Deleted documents are found too. A global is globals/SLUG, an account accounts/COLLECTION/ID, the schema system/schema. Works
beside a running service, and on a copy of log.db alone: it reads nothing else.

  --json  one JSON object, as GET /api/audit/documents/COLLECTION/ID answers, with all versions

Exit code 0: shown. 1: the log has nothing about it. 2: wrong usage, or could not run.`,
    run: showHistory,
  },
  diff: {
    summary: 'show what differs between two versions of a document',
    usage: `annals diff COLLECTION/ID [--from V] [--to V] [--data DIR] [--json]

Fields have the names of today. A global is globals/SLUG.

  --to V    the later version (default: the newest)
  --from V  the earlier one (default: the one before --to); 0 is before there was anything
  --json    one JSON object, as GET /api/audit/documents/COLLECTION/ID/diff answers, with a JSON Patch

Exit code 0: shown. 1: the log has no such document or version. 2: wrong usage, or could not run.`,
    run: showDiff,
  },
  show: {
    summary: 'show a document, or all of a collection, as of a moment',
    usage: `annals show COLLECTION[/ID] [--as-of MOMENT] [--data DIR] [--json]

What the log had of it then, in the names and fields of that time. A global is globals/SLUG. Works beside a running service, and
on a copy of log.db alone: it reads nothing else.

  --as-of MOMENT  a position, a time such as 2026-03-03T12:00:00Z, or a day such as 2026-03-03, which means its end in UTC
                  (default: now)
  --json          one JSON object per document and line: stream, version, position, document

Exit code 0: shown. 1: there was no such document then, or there never was such a collection. 2: wrong usage, or could not run.`,
    run: showDocument,
  },
  access: {
    summary: 'show who was allowed to make a version of a document, and by which rule',
    usage: `annals access COLLECTION/ID [--version V] [--data DIR] [--json]

The user right before, in the names and fields of that time; and the rule that admitted the write, with its author's words and
its SHA-256 as the log recorded them. A global is globals/SLUG, an account accounts/COLLECTION/ID.

  --version V  which version (default: the newest)
  --json       one JSON object, as GET /api/audit/documents/COLLECTION/ID/versions/V/access answers

Exit code 0: shown. 1: the log has no such document or version. 2: wrong usage, or could not run.`,
    run: showAccess,
  },
  events: {
    summary: 'show the events of an actor, a type, a collection, a time',
    usage: `annals events [--collection C] [--stream S] [--type T[,T]…] [--actor A] [--from MOMENT] [--to MOMENT]
              [--data DIR] [--json]

Events that fit all that is said, oldest first. Works beside a running service, and on a copy of log.db alone. annals export
saves them with what proves them.

  --collection C  a collection's slug, globals/SLUG, accounts/COLLECTION; globals, accounts or system for all of these;
                  of the service itself ${serviceStreams.join(', ')}
  --stream S      one document: COLLECTION/ID
  --type T        a type, or several with commas between: document.deleted,document.erased
  --actor A       user, apiKey, system or anonymous, or an id such as COLLECTION/ID or that of an API key
  --from, --to    both inclusive: a position, a time such as 2026-03-03T12:00:00Z, or a day such as 2026-03-03 in UTC
  --json          one JSON object per event and line, with all that it holds

Exit code 0: shown. 2: wrong usage, or could not run.`,
    run: showEvents,
  },
  'log tail': {
    summary: 'show the newest events of the log',
    usage: `annals log tail [-n N] [--follow] [--data DIR] [--json]

  -n N      how many (default: 10)
  --follow  go on with those that come, until it is interrupted
  --json    one JSON object per event and line, with all that it holds

Works beside a running service. Exit code 0: shown. 2: wrong usage, or could not run.`,
    run: tailLog,
  },
  'keys history': {
    summary: 'show all keys that have signed the log',
    usage: `annals keys history [--data DIR] [--json]

From when until when each signed, by which event it was replaced or disowned, and why. Works beside a running service, and on a
copy of log.db alone. Which key signs now is known from vault.db, where that is there.

  --json  one JSON object, as GET /api/audit/keys answers

Exit code 0: shown. 2: wrong usage, or could not run.`,
    run: showKeys,
  },
  'keys replace': {
    summary: 'have another key sign the log from now on',
    usage: `annals keys replace --reason TEXT [--data DIR]

For a key that somebody else may have. What it has signed still counts. The log says that it was replaced, by which one and why;
auditors need to know the new one, which is printed. The service must be stopped.

  --reason TEXT  why; it is kept for ever

Exit code 0: replaced. 2: wrong usage, or could not run.`,
    run: replaceKey,
  },
  'blobs gc': {
    summary: 'remove uploaded files that no event names',
    usage: `annals blobs gc [--data DIR] [--dry-run] [--names]

Every version of a document keeps its file, also of one that was deleted. What is removed is left over from uploads that were
refused or broken off after their bytes had been stored. Beside a running service it is that which removes them, and none that an
upload needs meanwhile.

  --dry-run  change nothing, only say what would be removed
  --names    print the SHA-256 of each file

${bucketSettings} The settings have to be those of the service.

Exit code 0: done. 1: refused. 2: wrong usage, or could not run.`,
    run: collectBlobs,
  },
  'blobs verify': {
    summary: 'check that all uploaded files are there and are what they were',
    usage: `annals blobs verify [--data DIR] [--record --reason TEXT [--config FILE] [--accept-clock]]

Reads every stored file and compares its SHA-256 with its name; then looks for files that a version needs and that are not
there. Names what is missing or altered, and the versions from which on it is needed; the last line names the first of them.
Works beside a running service. Nothing is changed but by --record, which is said once of each file, and of none that is erased.

  --record       have the service record, as events, which files are lost, and which of those are there again
  --reason TEXT  why, in 1 to 500 characters: the log keeps it for ever, so it must name nobody
  --accept-clock
                 with --record: also where the clock is behind the last event by more than a day

${bucketSettings} The settings have to be those of the service.

Exit code 0: sound. 1: something is missing or altered. 2: wrong usage, or could not run.`,
    run: verifyBlobs,
  },
  export: {
    summary: 'save a range of the log, with what proves it',
    usage: `annals export --out FILE.zip [--from P|TIME] [--to P|TIME] [--format F] [--force]
              [--config FILE] [--data DIR] [--accept-clock]

Saves the events of a range as a ZIP archive: the events, a manifest with their SHA-256 and the proofs, a README, and
annals-verify.mjs, which checks it anywhere. The export is put on record in the log, by whom, when and what.

  --out FILE.zip  where to; a file that is there is kept, but with --force
  --from, --to    both inclusive: a position, a time such as 2026-03-03T12:00:00Z, or a day such as 2026-03-03 in UTC
                  (default: the whole log)
  --format F      ndjson (default; the exact texts), csv (for spreadsheets), cloudevents; ndjson goes along with the others,
                  for proofs are about it
  --collection C, --stream S, --type T[,T]…, --actor A
                  only events of that collection, stream, type or actor. Each of them is proven, and no longer that
                  none was left out
  --since SIZE    also prove that the log goes on from a checkpoint of that size that somebody has kept; may be given
                  again and again
  --reason TEXT   why, for the record
${whereItRuns}`,
    run: exportLog,
  },
  bundle: {
    summary: 'save an evidence pack: everything about one document, with what proves it',
    usage: `annals bundle COLLECTION/ID --out FILE.zip [--no-files] [--complete] [--since SIZE]… [--force]
              [--config FILE] [--data DIR] [--accept-clock]

Saves all versions of a document as a ZIP archive: a summary to read or print, the exact texts with the proofs, the uploaded
files that it named, a README, and annals-verify.mjs, which checks it anywhere. Deleted documents are there, too. For a
global: globals/SLUG; for what happened to an account: accounts/COLLECTION/ID.

  --out FILE.zip  where to; a file that is there is kept, but with --force
  --no-files      leave the uploaded files out
  --complete      prove that there was no later version, however many events came after it (unasked: up to 1000)
  --since SIZE    also prove that the log goes on from a checkpoint of that size that somebody has kept; may be given
                  again and again
${whereItRuns}`,
    run: saveBundle,
  },
  'config check': {
    summary: 'check a configuration and print every problem',
    usage: `annals config check [--config FILE] [--rules] [--against DIR] [--strict-schema] [--site ID]

  --rules          also print the rules and hooks, each with the SHA-256 of its text and its author's words, as the log
                   records them
  --against DIR    also say what a start on this data directory would change for the documents there, and what of it
                   would be refused. Works beside a running service, and changes nothing
  --strict-schema  with --against: take what it would change for a problem, as annals serve --strict-schema does

Where one process serves several sites (ANNALS_SITES), the file of sites and the configuration of each are checked, or with
--site that of one.`,
    isForAllSites: true,
    run: configCheck,
  },
  types: {
    summary: 'write the TypeScript types of the API, for clients that do not import the configuration',
    usage: `annals types [--config FILE] [--out FILE] [--check]

An interface for each kind of document and body, and Annals, by which a client is typed: createClient<Annals>(…). Clients
that can import the configuration need no such file, createClient<typeof config>(…) has the same types. It works from the
configuration alone, without a service.

  --out FILE  where to (default: standard output); a file of that name is replaced, but only by the command that wrote it
  --check     change nothing; exit 1 when FILE is not what would be written

Exit code 0: done, or FILE is up to date. 1: with --check, it is not. 2: wrong usage, or could not run.`,
    run: writeTypes,
  },
  'create-user': {
    summary: 'make a user who can log in',
    usage: `annals create-user COLLECTION --email E [--field NAME=VALUE]… [--config FILE] [--data DIR] [--accept-clock]

Asks for the password twice, without showing it; without a terminal it is the first line of standard input. It is never
an argument. Prints the id of the new user.

  --email E           the e-mail to log in with
  --field NAME=VALUE  a value of another field; may be given again and again. Texts, numbers, true, false and the id of
                      a related document as they are; lists, objects, richText and json as JSON: --field 'tags=["a","b"]'
${whereItRuns}`,
    run: createUser,
  },
  erase: {
    summary: 'erase a document, its history and all that is about it',
    usage: `annals erase COLLECTION/ID --reason TEXT [--dry-run] [--yes] [--config FILE] [--data DIR] [--accept-clock]

Takes what the document ever said out of the log and everything derived from it: versions, unique values, its account with logins
and sessions, invitations, stored files that nothing else needs, mails that wait. A living one is deleted by that. What stays is
that there was something, when and by whom it was written, and this erasure with its reason; every proof stays valid. Backups, and
what was taken out before, still have it.

  --reason TEXT  why; it is kept for ever, so it should name nobody
  --dry-run      change nothing, only say what would go
  --yes          do not ask; without a terminal nothing is asked either
${whereItRuns}`,
    run: erase,
  },
  unlock: {
    summary: 'let an account that is locked log in again',
    usage: `annals unlock COLLECTION --email E [--config FILE] [--data DIR] [--accept-clock]

Ends the lock that follows too many failed logins, and forgets their number.
${whereItRuns}`,
    run: unlock,
  },
  'sessions revoke': {
    summary: 'end the sessions of an account',
    usage: `annals sessions revoke COLLECTION --email E [--session SID] [--config FILE] [--data DIR] [--accept-clock]

Whoever is logged in to the account is logged out at once. Its password stays as it is.

  --session SID  only the session with this id
${whereItRuns}`,
    run: revokeSessions,
  },
};

/**
 * Runs a command line and resolves with the exit code: 0 done, 1 refused or unsound, 2 wrong usage or could not run.
 */
export async function run(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const [first = 'help', second] = args;
  if (first === '--version' || first === 'version') return print(version());
  if (['help', '--help', '-h'].includes(first)) return print(help());
  const name = Object.hasOwn(commands, first) ? first : `${first} ${second ?? ''}`.trim();
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!command)
    return fail(`unknown command ${JSON.stringify(name)}${didYouMean(name, Object.keys(commands))}\n\n${help()}`, 2);
  const rest = args.slice(name.split(' ').length);
  if (rest.includes('--help') || rest.includes('-h')) return print(usageOf(command));
  try {
    return await command.run(rest, environment);
  } catch (error) {
    return explain(error, name);
  }
}

function usageOf({ usage, isForAllSites }: Command): string {
  return isForAllSites ? usage : `${usage}\n\n${oneSite}`;
}

function help(): string {
  const width = Math.max(...Object.keys(commands).map(({ length }) => length)) + 1;
  const lines = Object.entries(commands).map(([name, { summary }]) => `  annals ${name.padEnd(width)} ${summary}`);
  return `Annals ${version()}: a content service over a verifiable log\n\n${lines.join('\n')}\n\nannals COMMAND --help says more.`;
}

/** Codes of errors whose message says all there is to say: what, and of which file or address. */
const plain = new Set(['EACCES', 'EADDRNOTAVAIL', 'ENOSPC', 'ENOTFOUND', 'EPERM', 'EROFS', 'SQLITE_NOTADB']);

function explain(error: unknown, name: string): number {
  if (error instanceof UsageError) return fail(`${error.message}\n\nannals ${name} --help shows the usage`, 2);
  if (error instanceof ConfigError) return fail(error.message, 2);
  if (error instanceof LockedError || error instanceof UnwritableError || error instanceof StartError)
    return fail(error.message, 2);
  if (error instanceof BlobsRefusedError || error instanceof BlobsUnavailableError) return fail(error.message, 2);
  if (error instanceof CallError || error instanceof Cancelled) return fail(error.message, 2);
  if (isDiskFull(error)) return fail(`there is no room on the disk for annals ${name}`, 2);
  if (error instanceof Error && adviceOn(error) !== null) return fail(advised(error), 2);
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'EADDRINUSE') return fail('the port is in use; --port takes another one, --port 0 any free one', 2);
  if (plain.has(code)) return fail(messageOf(error), 2);
  return fail(error instanceof Error ? (error.stack ?? error.message) : String(error), 2);
}

function print(text: string): number {
  process.stdout.write(`${text}\n`);
  return 0;
}

function fail(text: string, code: number): number {
  process.stderr.write(`${text}\n`);
  return code;
}

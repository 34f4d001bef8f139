import { serviceStreams } from '../../events/facts/catalogue.ts';
import { type CliCommand, command, moments, streams } from '../command.ts';
import { eventsFlags, moveFlags } from '../flags.ts';

const reads = `Also works while a service runs, on a copy of log.db alone, and on a read-only copy.`;
const exitShown = `Exit codes: 0 shown. 2 wrong usage, or could not run.`;

/** The commands that only read the log, as `commands` lists them. */
export const logCommands: Record<string, CliCommand> = {
  history: command({
    summary: 'show the versions of a document: author, time, reason, changed fields',
    usage: `annals history COLLECTION/ID [--data DIR] [--json]

Includes deleted documents. ${streams} The schema is system/schema.
${reads}

  --json  print one JSON object, as GET /api/audit/documents/COLLECTION/ID answers, with all versions

Exit codes: 0 shown. 1 not in the log. 2 wrong usage, or could not run.`,
    settings: ['data'],
    flags: { json: 'boolean' },
    words: ['COLLECTION/ID'],
    run: async (given, environment) => (await import('./history.ts')).showHistory(given, environment),
  }),
  diff: command({
    summary: 'show the differences between two versions of a document',
    usage: `annals diff COLLECTION/ID [--from V] [--to V] [--data DIR] [--json]

Fields have their present names. A global is globals/SLUG.

  --to V    the later version (default: the newest)
  --from V  the earlier version (default: the one before --to); 0 is before the first
  --json    print one JSON object, as GET /api/audit/documents/COLLECTION/ID/diff answers, with a JSON Patch

Exit codes: 0 shown. 1 no such document or version. 2 wrong usage, or could not run.`,
    settings: ['data'],
    flags: { from: 'string', to: 'string', json: 'boolean' },
    words: ['COLLECTION/ID'],
    run: async (given, environment) => (await import('./history.ts')).showDiff(given, environment),
  }),
  show: command({
    summary: 'show a document or a collection, as of a moment',
    usage: `annals show COLLECTION[/ID] [--as-of MOMENT] [--data DIR] [--json]

Shows the state at that moment, with the field names of that time. A global is globals/SLUG.
${reads}

  --as-of MOMENT  ${moments},
                  which means its end (default: now)
  --json          print one JSON object per document and line: stream, version, position, document

Exit codes: 0 shown. 1 no such document at that moment, or no such collection ever. 2 wrong usage, or could not run.`,
    settings: ['data'],
    flags: { 'as-of': 'string', json: 'boolean' },
    words: ['COLLECTION[/ID]'],
    run: async (given, environment) => (await import('./show.ts')).showDocument(given, environment),
  }),
  access: command({
    summary: 'show the user and the rule that allowed a version of a document',
    usage: `annals access COLLECTION/ID [--version V] [--data DIR] [--json]

Shows the user as of right before the write, with the field names of that time; and the rule that allowed the write, with the
description and the SHA-256 that the log recorded. ${streams}

  --version V  the version (default: the newest)
  --json       print one JSON object, as GET /api/audit/documents/COLLECTION/ID/versions/V/access answers

Exit codes: 0 shown. 1 no such document or version. 2 wrong usage, or could not run.`,
    settings: ['data'],
    flags: { version: 'string', json: 'boolean' },
    words: ['COLLECTION/ID'],
    run: async (given, environment) => (await import('./show.ts')).showAccess(given, environment),
  }),
  events: command({
    summary: 'show the events of an actor, a type, a collection, a time',
    usage: `annals events [--collection C] [--stream S] [--batch ID] [--type T[,T]…] [--actor A] [--from MOMENT]
              [--to MOMENT] [--data DIR] [--json]

Shows the events that match all filters, oldest first. ${reads}
annals export saves events with their proofs.

  --collection C  the slug of a collection, globals/SLUG or accounts/COLLECTION; globals, accounts or system for all of
                  these; or a stream of the service: ${serviceStreams.join(', ')}
  --stream S      one document: COLLECTION/ID
  --batch ID      one bulk call, by the id in its answer
  --type T        one type, or several separated by commas: document.deleted,document.erased
  --actor A       user, apiKey, system or anonymous; or an id: COLLECTION/ID, or that of an API key
  --from, --to    the range, both ends included:
                  ${moments}
  --json          print one JSON object per event and line, with all its data

${exitShown}`,
    settings: ['data'],
    flags: eventsFlags,
    run: async (given, environment) => (await import('./events.ts')).showEvents(given, environment),
  }),
  'log tail': command({
    summary: 'show the newest events of the log',
    usage: `annals log tail [-n N] [--follow] [--data DIR] [--json]

  -n N      the number of events (default: 10)
  --follow  continue with new events until interrupted
  --json    print one JSON object per event and line, with all its data

${reads} ${exitShown}`,
    settings: ['data'],
    flags: { follow: 'boolean', n: 'string', json: 'boolean' },
    run: async (given, environment) => (await import('./events.ts')).tailLog(given, environment),
  }),
  'log move': command({
    summary: 'move the log into PostgreSQL while the service runs, or back',
    usage: `annals log move [--to ADDRESS | --to-file FILE] [--data DIR]
       annals log move --to sqlite [--data DIR]
       annals log move --to sqlite --without-postgres --reason TEXT [--data DIR]

Copies the log into a database of PostgreSQL, while the service on the data directory goes on. Writes wait only for the last
step. Then the log is in PostgreSQL: the service that runs still answers reads, and refuses writes until it is started again
with ANNALS_POSTGRES_URL, as a node on the same data directory. The log is the same: its origin, its proofs and its signing key.
Passwords, keys and drafts move with it. A move that was stopped goes on when the command is run again. Run it as the user of
the service.

With --to sqlite the log leaves PostgreSQL, whose address is ANNALS_POSTGRES_URL, for the data directory of a node. Stop all nodes
first. Then the service is started there without ANNALS_POSTGRES_URL.

With --without-postgres the same is done where PostgreSQL is lost, with the events that this node has. Use the node that has most.
Passwords, API keys that were made, drafts and preferences are lost, and another key signs the log. Never use it while nodes work
on the log in PostgreSQL: there would be two logs.

  --to ADDRESS    postgres://ROLE:PASSWORD@HOST:PORT,HOST:PORT/DATABASE (default: ANNALS_POSTGRES_URL). Other users of this machine can
                  see the arguments of a process
  --to-file FILE  the file with the address
  --reason TEXT   why another key signs the log, which keeps that

Exit codes: 0 moved. 2 wrong usage, or not moved: the log is where it was.`,
    settings: ['data'],
    flags: moveFlags,
    run: async (given) => (await import('../moves/move.ts')).moveLog(given),
  }),
  'signing-key history': command({
    summary: 'show all keys that have signed the log',
    usage: `annals signing-key history [--data DIR] [--json]

Shows for each key the time in which it signed, and the event and reason by which it handed over, or was replaced or disowned.
Reads the present key from vault.db, if it exists. ${reads}

  --json  print one JSON object, as GET /api/audit/signing-keys answers; annals-verify --handovers reads it

${exitShown}`,
    settings: ['data'],
    flags: { json: 'boolean' },
    run: async (given) => (await import('./signing-key.ts')).showKeys(given),
  }),
};

import { bucket, type CliCommand, command } from '../command.ts';

/** The commands that run a service and look after it. */
export const serviceCommands: Record<string, CliCommand> = {
  init: command({
    summary: 'write a configuration to begin with',
    usage: `annals init

Writes into this directory annals.config.ts, annals.d.ts (the types of a configuration, for editors; not where the npm package
is installed), tsconfig.json and .gitignore. Replaces no file: if one of them, or another configuration, exists, writes none.

Exit codes: 0 written. 2 a file exists, wrong usage, or could not run.`,
    settings: ['sites'],
    run: async () => (await import('./init.ts')).init(),
  }),
  serve: command({
    summary: 'run the service',
    usage: `annals serve [--config FILE] [--data DIR] [--host H] [--port N] [--threads N] [--drain-seconds N] [--strict-schema] [--accept-loss]
             [--accept-clock] [--no-backup] [--apply-schema]

  --config FILE    configuration (default: annals.config.ts here; in a checkout, else the example)
  --data DIR       data directory (default: ./data)
  --host H         address to listen on (default: 127.0.0.1)
  --port N         port to listen on; 0 takes a free one (default: 4000)
  --threads N      workers that answer requests (default: one per core on Linux, elsewhere 1)
  --drain-seconds N
                   answer requests for so long after SIGTERM, while /ready answers 503 (default: 0)
  --strict-schema  refuse a configuration that changes the answers for existing documents; annals config check
                   --against DIR lists such changes beforehand
  --accept-loss    start with a configuration by which documents show less: a field or a collection that they have values
                   in is gone. Without it the start is refused, and names the field that was probably renamed
  --accept-clock   start even if the clock is more than a day behind the last event; recorded times stand still until
                   it catches up
  --no-backup      if this version changes the format of the log, do not make a backup in the data directory first
  --apply-schema   with ANNALS_POSTGRES_URL: apply a configuration that differs from that of the log, which all nodes have in
                   common, in place of waiting for annals schema apply

Environment. Each variable can also be read from a file, named by the variable with the suffix _FILE.

  ANNALS_CONFIG, ANNALS_DATA, ANNALS_HOST, ANNALS_PORT, ANNALS_THREADS, ANNALS_DRAIN_SECONDS, ANNALS_STRICT_SCHEMA,
  ANNALS_ACCEPT_LOSS, ANNALS_ACCEPT_CLOCK, ANNALS_NO_BACKUP, ANNALS_APPLY_SCHEMA
                             the same as the flags; the last five are true or false
  ANNALS_BASE_URL            address under which clients reach the service
  ANNALS_API_KEY             API keys, separated by commas (default: generated)
  ANNALS_SECRET              secrets that sign tokens, separated by commas; the first signs (default: generated)
  ANNALS_LOG_LEVEL           fatal, error, warn, info, debug or silent (default: info)
  ANNALS_SMTP_URL            mail server; ANNALS_MAIL_FROM is the sender
  ANNALS_CHECKPOINT_WEBHOOK  address that each signed checkpoint is posted to; ANNALS_CHECKPOINT_WEBHOOK_ALLOW_PRIVATE=true
                             allows one that is not public
  ANNALS_WITNESSES           witnesses that cosign checkpoints: VERIFIER-KEY=URL, separated by commas;
                             ANNALS_WITNESS_ALLOW_PRIVATE=true allows addresses that are not public
  ANNALS_TSA_URL             time-stamp authority (RFC 3161); ANNALS_TSA_CA are the certificates to trust, in PEM, and
                             ANNALS_TSA_ALLOW_PRIVATE=true allows an address that is not public
  ANNALS_POSTGRES_URL        postgres://ROLE:PASSWORD@HOST:PORT,HOST:PORT/DATABASE: the log is there, for several nodes; ANNALS_READS
                             is linear (default), session or eventual; ANNALS_NODE is the name of this one. See
                             docs/scale-out.md
  ANNALS_METRICS_TOKEN       token of /metrics, for Prometheus; ANNALS_METRICS_ADDRESS is host:port to serve it there
  ANNALS_KEEP_ALIVE_SECONDS  seconds that a connection is kept open for the next request (default: 65)
  ANNALS_READ_SECONDS        seconds that a read may work which no index serves (default: 2)
  ANNALS_CACHE_MIB           memory of each thread, in MiB, for what was read (default: 32; 0: none)
  ANNALS_VERIFY_PERCENT      share of one core for the background verification of the log (default: 3)
  ANNALS_SITES               JSON file of several sites to serve, each with its own data and keys; --data is then the
                             parent directory of their data. See docs/cloud.md

${bucket}
ANNALS_S3_CHECKPOINT_DAYS is the number of days for which Object Lock protects each checkpoint in that bucket;
ANNALS_S3_LOCAL_RETENTION_BYTES how many bytes of segments of the log stay here: older ones are moved into it.`,
    settings: [
      'config',
      'data',
      'host',
      'port',
      'threads',
      'drainSeconds',
      'strictSchema',
      'acceptLoss',
      'acceptClock',
      'noBackup',
      'applySchema',
      'sites',
    ],
    run: async (given) => (await import('./serve.ts')).serve(given),
  }),
  dev: command({
    summary: 'run the service, and reload the configuration when it is saved',
    usage: `annals dev [--config FILE] [--data DIR] [--host H] [--port N] [--threads N] [--strict-schema]
           [--accept-loss] [--accept-clock] [--no-backup]

Takes the environment of annals serve. Watches the file of the configuration and the files that it imports, packages
excepted. When one is saved, does what annals reload does, and prints one line. Where a restart is needed, restarts the service, with
the same port and data. A configuration that is wrong changes nothing, and its error is printed. Where documents
would show less, asks first; without a terminal goes on with the former one.

Exit codes: 0 stopped. 2 wrong usage, or could not start.`,
    settings: ['config', 'data', 'host', 'port', 'threads', 'strictSchema', 'acceptLoss', 'acceptClock', 'noBackup'],
    run: async (given) => (await import('./dev.ts')).dev(given),
  }),
  reload: command({
    summary: 'have the running service read its configuration again',
    usage: `annals reload [--data DIR] [--accept-loss]

The service loads and checks the configuration, then goes on with it: rules, hooks, validation, defaults, labels, mail, CORS, limits. No
request fails. The log records changed rules as a restart does. A configuration that is wrong, or that changes how documents are stored
(collections, fields, indexes, unique values), changes nothing: the reasons are printed, as are losses
of documents, which --accept-loss accepts. SIGHUP has the same effect, with the result in
the log of the service. Settings, which are flags and environment variables, are not read again.

Exit codes: 0 reloaded. 1 refused, one reason per line. 2 no service runs, wrong usage, or could not run.`,
    settings: ['data'],
    flags: { 'accept-loss': 'boolean' },
    run: async (given) => (await import('./reload.ts')).reload(given),
  }),
  'schema apply': command({
    summary: 'apply the configuration of a node that waits, to the log of all nodes',
    usage: `annals schema apply [--data DIR] [--accept-loss]

For nodes (ANNALS_POSTGRES_URL). A node whose configuration has another schema or other rules than the log answers no requests: it waits. This
command has it look once more at all documents, then record its schema and rules, and the claims that hold under them. From then on
all nodes that were started with the same configuration are ready. Nodes with the former configuration take no writes any more, answer
reads as of before for 60 seconds, and are to be ended. A node of annals serve --apply-schema does the same by itself. Run it beside a
node that waits, with its data directory. Where documents would show less it is refused, unless --accept-loss accepts that.

Exit codes: 0 applied, or applied before. 1 refused: documents stand against it, one per line, or the log could not be written. 2 no
service runs, wrong usage, or could not run.`,
    settings: ['data'],
    flags: { 'accept-loss': 'boolean' },
    run: async (given) => (await import('./schema.ts')).applySchema(given),
  }),
  health: {
    summary: 'ask the running service whether it is ready',
    usage: `annals health [--data DIR]

Finds the address of the service that works on the data directory, and asks it for /ready. Prints one line. Needs the same user as
the service, and changes nothing. Of several sites (ANNALS_SITES) it asks for the whole process.

Exit codes: 0 ready. 1 not ready (it starts, stops, or refuses writes), or no service runs. 2 wrong usage.`,
    isForAllSites: true,
    run: async (...given) => (await import('./health.ts')).health(...given),
  },
  doctor: command({
    summary: 'check the machine, the data directory and the settings of a service',
    usage: `annals doctor [--config FILE] [--data DIR] [--json]

Checks room on the disk, the time of an fsync, the file system, the clock, that vault.db is that of the log, that the newest
checkpoint was copied, modes of files, the limit of open files, the length of secrets, the base URL, and the login to the mail
server; with ANNALS_POSTGRES_URL, PostgreSQL with its standbys, the lock of the log, and the nodes. Also works while a service runs. Writes
and removes one small file in the data directory, and sends no mail. Run it as the user of the service, with its settings. annals
verify checks the log itself.

  --json  print one JSON object: isHealthy, and findings with check, status (ok, note, trouble) and message

Exit codes: 0 healthy. 1 something is to be mended: a line begins with "trouble". 2 wrong usage, or could not run.`,
    settings: ['config', 'data'],
    flags: { json: 'boolean' },
    run: async (given) => (await import('../doctor/doctor.ts')).doctor(given),
  }),
};

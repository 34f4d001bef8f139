import { type CliCommand, command } from '../command.ts';

/** The commands about the nodes of a log in PostgreSQL. */
export const nodeCommands: Record<string, CliCommand> = {
  nodes: command({
    summary: 'list the nodes of a log in PostgreSQL',
    usage: `annals nodes [--json]

Asks the PostgreSQL of ANNALS_POSTGRES_URL, so it also works where no node runs. Prints for each node: its name; its state (joining, ready, or
absent if it was not seen for 5 seconds), version, and the hash of its schema; the events that it has (APPLIED), and how many it
lacks, and since when (BEHIND); up to which event its files have nothing of what was erased (SCRUBBED); its last report. Then, what
the newest erasure waits for.

  --json  print one JSON object: size, erasures (newest, cleaned, obstacle), nodes

Exit codes: 0 shown. 2 wrong usage, or could not run.`,
    settings: [],
    flags: { json: 'boolean' },
    run: async (given, environment) => (await import('./nodes.ts')).listNodes(given, environment),
  }),
  'nodes forget': command({
    summary: 'take a node off the list whose disk is gone',
    usage: `annals nodes forget NODE [--force]

A node that stops in order takes itself off the list. One that crashed stays on it, since its files are still there, and every erasure
waits until it is back. Forget it when its files are gone, or are to be destroyed. If it comes back, it is on the list again.

  --force  also if it was seen within the last 60 seconds

Exit codes: 0 done. 1 refused. 2 wrong usage, or could not run.`,
    settings: [],
    flags: { force: 'boolean' },
    words: ['NODE'],
    run: async (given) => (await import('./nodes.ts')).forget(given),
  }),
};

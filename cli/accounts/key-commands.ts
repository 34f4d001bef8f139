import { type CliCommand, calls, command } from '../command.ts';
import { createKeyFlags } from '../flags.ts';

/** The commands about the API keys that are made at run time. */
export const keyCommands: Record<string, CliCommand> = {
  'api-keys create': command({
    summary: 'make an API key with limited rights',
    usage: `annals api-keys create --name TEXT [--scope OPERATIONS:TARGETS]... [--audit PARTS] [--expires TIME] [--config FILE] [--data DIR]
                   [--accept-clock]

Prints the secret of the key, once. Without --scope and --audit the key has no rights.

  --name TEXT     the name of the key, in the list of keys and, for ever, in the log
  --scope OPERATIONS:TARGETS
                  operations (read, create, update, delete, draft) on collections and globals, with commas between:
                  read:posts,globals/site; draft needs drafts; * stands for all collections, globals/* for all globals;
                  can be repeated
  --audit PARTS   parts of the history, with commas between: headers, payloads, export; and erase, the right to erase
  --expires TIME  the end of the key, such as 2027-01-31T00:00:00Z (default: never)
${calls}`,
    settings: ['config', 'data', 'acceptClock'],
    flags: createKeyFlags,
    run: async (given) => (await import('./keys.ts')).createKey(given),
  }),
  'api-keys list': command({
    summary: 'list the API keys that were made here',
    usage: `annals api-keys list [--json] [--config FILE] [--data DIR] [--accept-clock]

The keys of ANNALS_API_KEY are not among them.

  --json          as JSON
${calls}`,
    settings: ['config', 'data', 'acceptClock'],
    flags: { json: 'boolean' },
    run: async (given, environment) => (await import('./keys.ts')).listKeys(given, environment),
  }),
  'api-keys revoke': command({
    summary: 'revoke an API key',
    usage: `annals api-keys revoke ID [--config FILE] [--data DIR] [--accept-clock]

Ends the key for good, at once and everywhere.

${calls}`,
    settings: ['config', 'data', 'acceptClock'],
    words: ['ID'],
    run: async (given) => (await import('./keys.ts')).revokeKey(given),
  }),
  'api-keys rotate': command({
    summary: 'give an API key a new secret',
    usage: `annals api-keys rotate ID [--overlap SECONDS] [--config FILE] [--data DIR] [--accept-clock]

Prints the new secret, once. The id and the rights of the key stay.

  --overlap SECONDS
                  how long the secret before it stays valid, at most 604800, 7 days (default: 0)
${calls}`,
    settings: ['config', 'data', 'acceptClock'],
    flags: { overlap: 'string' },
    words: ['ID'],
    run: async (given) => (await import('./keys.ts')).rotateKey(given),
  }),
};

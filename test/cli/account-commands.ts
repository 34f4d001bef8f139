import { runHere } from '../helpers/in-process.ts';
import { runCommand } from '../helpers/service.ts';

/** A configuration with accounts of two kinds. */
export const config = {
  bcryptCost: 4,
  rateLimit: false,
  collections: [
    {
      slug: 'users',
      auth: { maxLoginAttempts: 2, useAPIKey: true },
      fields: [
        { name: 'name', type: 'text' },
        { name: 'code', type: 'text', maxLength: 3 },
        { name: 'age', type: 'number', min: 0 },
        { name: 'isEditor', type: 'boolean' },
        { name: 'born', type: 'date' },
        { name: 'role', type: 'select', options: ['admin', 'editor'] },
        { name: 'tags', type: 'multiSelect', options: ['a', 'b'] },
        { name: 'friend', type: 'relationship', relationTo: 'users' },
        { name: 'friends', type: 'relationship', relationTo: 'users', hasMany: true },
        { name: 'address', type: 'object', fields: [{ name: 'city', type: 'text' }] },
        { name: 'links', type: 'array', fields: [{ name: 'url', type: 'url' }] },
        { name: 'more', type: 'json' },
        { type: 'row', fields: [{ name: 'inRow', type: 'text' }] },
        { name: 'friendOf', type: 'join', collection: 'users', on: 'friend' },
      ],
    },
    { slug: 'members', auth: true, fields: [{ name: 'email2', type: 'email' }] },
    { slug: 'posts', fields: [{ name: 'title', type: 'text' }] },
  ],
};
export const password = 'correct horse battery';

/** Where a command works: a data directory, and the file of the configuration. */
export type Place = { data: string; file: string };
/** Its standard input, without it a password, and its environment. */
export type Given = { input?: string | Buffer; environment?: Record<string, string> };

/** The arguments of a command line in which texts with spaces are quoted. */
export function argumentsAt({ data, file }: Place, command: string): string[] {
  const words = command.match(/'[^']*'|\S+/g) ?? [];
  return [...words.map((word) => word.replace(/^'(.*)'$/, '$1')), '--config', file, '--data', data];
}

/** Runs a command in this process. */
export function annalsAt(place: Place, command: string, { input = `${password}\n`, environment = {} }: Given = {}) {
  return runHere(argumentsAt(place, command), { input, environment });
}

/** The same in a process of its own. */
export function annalsProcessAt(
  place: Place,
  command: string,
  { input = `${password}\n`, environment = {} }: Given = {},
) {
  return runCommand(argumentsAt(place, command), { input, environment });
}

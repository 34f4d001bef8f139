import { isIP } from 'node:net';
import { didYouMean, show, showAll } from '../../config/suggest.ts';
import type { PostgresAddress } from '../../storage/postgres/connection.ts';

/** Thrown for an address that is not one. The message names the part, and never the password. */
export class AddressError extends Error {
  override name = 'AddressError';
}

const form = 'postgres://ROLE:PASSWORD@HOST:PORT,HOST:PORT/DATABASE';
const usualPort = 5432;
const parameters = ['sslmode'];
const modes = ['verify-full', 'disable'];

/**
 * Reads the address of PostgreSQL, with any number of hosts of which one takes writes, as libpq writes it (PostgreSQL 15, section
 * 34.1.1.2). Connections are encrypted and the certificate is checked (`sslmode=verify-full`), unless every host is this machine or
 * the address says `sslmode=disable`.
 *
 * @throws AddressError.
 */
export function readAddress(text: string): PostgresAddress {
  const parts = /^postgres(?:ql)?:\/\/([^:@/?#]*)(?::([^@/?#]*))?@([^@/?#]*)\/([^/?#]*)(?:\?([^#]*))?$/.exec(text);
  if (!parts) throw new AddressError(`it must have the form ${form}`);
  const [, user = '', password = '', hosts = '', database = '', query = ''] = parts;
  if (user === '') throw new AddressError(`it names no role; it must have the form ${form}`);
  if (database === '') throw new AddressError(`it names no database; it must have the form ${form}`);
  const found = hosts.split(',').map(hostOf);
  const mode = modeOf(query) ?? (found.every(({ host }) => isHere(host)) ? 'disable' : 'verify-full');
  return {
    hosts: found,
    user: decoded(user, 'role'),
    password: decoded(password, 'password'),
    database: decoded(database, 'database'),
    tls: mode === 'disable' ? false : {},
  };
}

function hostOf(text: string): { host: string; port: number } {
  const [, v6, name, port = String(usualPort)] =
    /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const host = v6 ?? name;
  if (host === undefined)
    throw new AddressError(`${show(text)} is not a host with its port, such as "db1.example:5432"`);
  if (Number(port) < 1 || Number(port) > 65_535)
    throw new AddressError(`the port of ${show(text)} must be from 1 to 65535`);
  return { host, port: Number(port) };
}

function modeOf(query: string): string | null {
  const given = new URLSearchParams(query);
  for (const name of given.keys()) {
    if (parameters.includes(name)) continue;
    throw new AddressError(
      `it has the parameter ${show(name)}; known is ${showAll(parameters)}${didYouMean(name, parameters)}`,
    );
  }
  const mode = given.get('sslmode');
  if (mode === null || modes.includes(mode)) return mode;
  throw new AddressError(`sslmode must be ${showAll(modes)}, and is ${show(mode)}${didYouMean(mode, modes)}`);
}

function isHere(host: string): boolean {
  return host === 'localhost' || (isIP(host) === 4 && host.startsWith('127.')) || host === '::1';
}

function decoded(text: string, what: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new AddressError(`its ${what} has a % that begins no escape such as %40`);
  }
}

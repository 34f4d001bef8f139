import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { didYouMean, show, showAll } from '../../config/suggest.ts';
import type { PostgresAddress } from '../../storage/postgres/connection.ts';

/** Thrown for a wrong address. The message names the wrong part, and never the password. */
export class AddressError extends Error {
  override name = 'AddressError';
}

const form = 'postgres://ROLE:PASSWORD@HOST:PORT,HOST:PORT/DATABASE';
const usualPort = 5432;
const parameters = ['sslmode', 'sslrootcert'];
const modes = ['verify-full', 'disable'];

type Tls = PostgresAddress['tls'];

/**
 * Reads an address of PostgreSQL with any number of hosts, in the form of libpq (PostgreSQL 15, section 34.1.1.2). One
 * of the hosts takes writes. Connections are encrypted and the certificate is checked (`sslmode=verify-full`), unless
 * every host is this machine or the address says `sslmode=disable`. `sslrootcert` names a file with the certificates of
 * the authorities to trust in place of the known ones.
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
  return {
    hosts: found,
    user: decoded(user, 'role'),
    password: decoded(password, 'password'),
    database: decoded(database, 'database'),
    tls: tlsOf(
      query,
      found.every(({ host }) => isHere(host)),
    ),
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

function tlsOf(query: string, areAllHere: boolean): Tls {
  const given = new URLSearchParams(query);
  for (const name of given.keys()) {
    if (parameters.includes(name)) continue;
    throw new AddressError(
      `it has the parameter ${show(name)}; known are ${showAll(parameters)}${didYouMean(name, parameters)}`,
    );
  }
  const mode = given.get('sslmode');
  const file = given.get('sslrootcert');
  if (mode !== null && !modes.includes(mode))
    throw new AddressError(`sslmode must be ${showAll(modes)}, and is ${show(mode)}${didYouMean(mode, modes)}`);
  if (file !== null && mode === 'disable')
    throw new AddressError('sslrootcert has no meaning with sslmode=disable: leave out one of them');
  if (file !== null) return { ca: authoritiesIn(file) };
  return (mode ?? (areAllHere ? 'disable' : 'verify-full')) === 'disable' ? false : {};
}

/** @returns PEM. */
function authoritiesIn(file: string): string {
  try {
    const pem = readFileSync(file, 'utf8');
    new X509Certificate(pem);
    return pem;
  } catch (error) {
    throw new AddressError(`sslrootcert=${file} is not a file with certificates in PEM (${codeOf(error)})`);
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'no certificate in it';
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

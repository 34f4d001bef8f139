import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe } from 'node:test';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** `describe` for tests with a real time-stamp authority: without OpenSSL the tests are skipped, and counted. */
export const describeWithOpenssl: typeof describe =
  spawnSync('openssl', ['version']).status === 0 ? describe : (describe.skip as typeof describe);

/** The options of an authority's certificate. */
export type AuthorityOptions = { key?: 'rsa' | 'ec'; usage?: string; days?: number; digest?: string };

const kinds = { rsa: ['rsa:2048'], ec: ['ec', '-pkeyopt', 'ec_paramgen_curve:P-256'] };

/** A CA and time-stamp authorities under it, made by OpenSSL in a folder. */
export function createCa(folder: string) {
  const at = (name: string) => join(folder, name);
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  mkdirSync(folder, { recursive: true });
  const certificates = `[ca]\nbasicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign
[req]\ndistinguished_name=dn\n[dn]\n`;
  writeFileSync(at('ca.cnf'), certificates);
  const self = ['-x509', '-keyout', 'ca.key', '-out', 'ca.pem', '-subj', '/CN=A CA', '-days', '9', '-extensions', 'ca'];
  openssl('req', '-newkey', ...kinds.ec, '-nodes', '-config', 'ca.cnf', ...self);

  function authority(name: string, options: AuthorityOptions = {}) {
    const { key = 'ec', usage = 'critical,timeStamping', days = 8, digest = 'sha256' } = options;
    const extensions = `[tsa]\nbasicConstraints=CA:FALSE\nkeyUsage=critical,digitalSignature\nextendedKeyUsage=${usage}\n`;
    const ts = `[ts]\nserial=${name}.serial\ncrypto_device=builtin\nsigner_cert=${name}.pem\nsigner_key=${name}.key
signer_digest=${digest}\ndefault_policy=1.2.3.4.1\ndigests=sha256\ness_cert_id_alg=${digest}\n`;
    writeFileSync(at(`${name}.cnf`), extensions + ts);
    writeFileSync(at(`${name}.serial`), '01\n');
    const made = ['-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=${name}`];
    openssl('req', '-newkey', ...kinds[key], '-nodes', '-config', 'ca.cnf', ...made);
    const signed = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', String(days)];
    const extended = ['-extfile', `${name}.cnf`, '-extensions', 'tsa'];
    openssl('x509', '-req', '-in', `${name}.csr`, '-out', `${name}.pem`, ...signed, ...extended);
    let count = 0;

    /** The answer of `openssl ts -reply` to a request (RFC 3161). */
    return async function reply(query: Buffer): Promise<Buffer> {
      count += 1;
      const [asked, answered] = [at(`${name}-${count}.tsq`), at(`${name}-${count}.tsr`)];
      writeFileSync(asked, query);
      const args = ['ts', '-reply', '-queryfile', asked, '-config', `${name}.cnf`, '-section', 'ts', '-out', answered];
      await run('openssl', args, { cwd: folder });
      return readFileSync(answered);
    };
  }

  return { authority, ca: readFileSync(at('ca.pem'), 'utf8'), caFile: at('ca.pem') };
}

export type Reply = ReturnType<ReturnType<typeof createCa>['authority']>;

/** A time-stamp authority over HTTP (RFC 3161, section 3.4), for the tests of a `describe`. */
export function useAuthority() {
  const state = {
    url: '',
    /** The function that answers. */
    reply: (async () => Buffer.alloc(0)) as Reply,
    status: 200,
    /** The requests that came. */
    queries: [] as Buffer[],
    authorization: undefined as string | undefined,
  };
  const server = createServer(async (request, response) => {
    const query = Buffer.concat(await request.toArray());
    state.queries.push(query);
    state.authorization = request.headers.authorization;
    const isQuery = request.headers['content-type'] === 'application/timestamp-query';
    const answer = isQuery && state.status === 200 ? await state.reply(query) : Buffer.alloc(0);
    response.writeHead(isQuery ? state.status : 415, { 'content-type': 'application/timestamp-reply' }).end(answer);
  });
  before(async () => {
    server.listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    state.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/tsa`;
  });
  after(() => server.close());
  return state;
}

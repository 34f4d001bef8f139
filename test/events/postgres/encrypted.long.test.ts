import assert from 'node:assert/strict';
import { chmodSync, chownSync, copyFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { readAddress } from '../../../events/postgres/address.ts';
import { connect } from '../../../storage/postgres/connection.ts';
import { makeCertificate } from '../../helpers/certificate.ts';
import { asAdmin, describeWithServers, type Servers, startServers } from '../../helpers/postgres.ts';
import { temporaryFolder } from '../../helpers/service.ts';

/** Gives a server a certificate, and the key as its user alone may read it. */
async function encrypt(servers: Servers, folder: string): Promise<void> {
  const { uid, gid } = statSync(servers.folder);
  for (const [from, to] of [
    ['certificate.pem', 'server.crt'],
    ['certificate.key', 'server.key'],
  ] as const) {
    const path = join(servers.folder, 'a', to);
    copyFileSync(join(folder, from), path);
    chownSync(path, uid, gid);
    chmodSync(path, 0o600);
  }
  const [first] = servers.hosts;
  assert.ok(first);
  await asAdmin([first], 'postgres', 'ALTER SYSTEM SET ssl = on', 'SELECT pg_reload_conf()');
}

describeWithServers('An encrypted connection to PostgreSQL', () => {
  it('is made to a server whose certificate an authority of sslrootcert has signed, and to no other', async (t) => {
    const folder = temporaryFolder(t);
    const certificate = makeCertificate(folder);
    if (!certificate) return t.skip('there is no openssl');
    const servers = await startServers();
    t.after(() => servers.end());
    const { port } = servers.hosts[0] as { port: number };
    const { TEST_POSTGRES_USER: user, TEST_POSTGRES_PASSWORD: password } = process.env;
    const open = (query: string) =>
      connect(readAddress(`postgres://${user}:${password}@127.0.0.1:${port}/postgres${query}`), 5000, () => {});

    await assert.rejects(open('?sslmode=verify-full'), /does not support SSL/);
    await encrypt(servers, folder);
    const connection = await open(`?sslrootcert=${encodeURIComponent(certificate.file)}`);
    const [result] = await connection.run({ text: 'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()' });
    await connection.close();
    assert.deepEqual(result?.rows, [{ ssl: true }]);
    await assert.rejects(open('?sslmode=verify-full'), /self-signed certificate/);
    await assert.rejects(
      connect(
        readAddress(`postgres://${user}:${password}@localhost:${port}/postgres?sslrootcert=${certificate.file}`),
        5000,
        () => {},
      ),
      /altnames|certificate's|Hostname/i,
    );
  });
});

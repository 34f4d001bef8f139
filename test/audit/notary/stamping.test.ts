import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import Database from 'better-sqlite3';
import type { CheckpointChange } from '../../../events/proof/checkpoints.ts';
import { signedByLog } from '../../../events/proof/notes.ts';
import { openVault } from '../../../events/vault/vault.ts';
import { portOf } from '../../../events/vault/vault-port.ts';
import { openAnchoring } from '../../../server/audit/notary/anchoring.ts';
import { readVouched, vouchedFor } from '../../../server/audit/notary/outside.ts';
import { stamp } from '../../../server/audit/notary/stamping.ts';
import { isVouchedFor, readToken, TokenError } from '../../../server/audit/notary/time-stamp-tokens.ts';
import { createLog } from '../../../server/platform/logging.ts';
import { certificatesIn } from '../../../server/settings/certificates.ts';
import { run } from '../../../verify/annals-verify.mjs';
import { noon, openTestLog } from '../../events/logs.ts';
import { startHere } from '../../helpers/embedded.ts';
import { runHere } from '../../helpers/in-process.ts';
import { apiKey, temporaryFolder } from '../../helpers/service.ts';
import { askUntil, eventually, useFolder } from '../../helpers/shared.ts';
import { createCa, describeWithOpenssl, useAuthority } from '../../helpers/tsa.ts';

const note = 'annals/test\n1\nroot\n\n— annals/test AAAAAAA=\n';
const { signal } = new AbortController();

describeWithOpenssl('time-stamp tokens of OpenSSL', () => {
  const folder = useFolder();
  const { authority, ca } = createCa(join(folder, 'ca'));
  const other = createCa(join(folder, 'other'));
  const reply = authority('tsa');
  const tsa = useAuthority();
  const trusted = certificatesIn(ca);
  const asked = (given = note, cas = trusted) =>
    stamp({ url: tsa.url, allowPrivate: true, trusted: cas }, given, signal);

  it('are asked for over the note of the log, and say when it was there', async () => {
    tsa.reply = reply;
    const token = readToken(await asked());
    assert.ok(Math.abs(Date.now() - Date.parse(token.time)) < 60_000);
    assert.equal(token.signer.subject, 'CN=tsa');
    // The lines of witnesses may come before or after it.
    assert.deepEqual(readToken(await asked(`${note}— w AAAAAAA=\n`)).imprint, token.imprint);
    assert.ok(isVouchedFor(token, trusted));
    assert.ok(isVouchedFor(token, [token.signer]));
    assert.ok(!isVouchedFor(token, []));
    assert.ok(!isVouchedFor(token, certificatesIn(other.ca)));
    const url = tsa.url.replace('http://', 'http://an%40ne:s%3Acret@');
    await stamp({ url, allowPrivate: true, trusted }, note, signal);
    assert.equal(tsa.authorization, `Basic ${Buffer.from('an@ne:s:cret').toString('base64')}`);
  });

  it('are read of every authority, with keys of RSA and of elliptic curves', async () => {
    for (const [name, options] of [
      ['rsa', { key: 'rsa' }],
      ['longer', { digest: 'sha512' }],
    ] as const) {
      tsa.reply = authority(name, options);
      assert.equal(readToken(await asked()).signer.subject, `CN=${name}`);
    }
  });

  it('are refused that answer another request, are for something else, or are by an authority that may not', async () => {
    const replies: Buffer[] = [];
    tsa.reply = async (query) => {
      replies.push(await reply(query));
      return replies[0] as Buffer;
    };
    await asked();
    await assert.rejects(asked(), { message: 'its token answers another request' });
    await assert.rejects(asked(`other ${note}`), { message: 'its token is for something else' });
    tsa.reply = other.authority('stranger');
    const message = 'its token is by a certificate that no certificate of ANNALS_TSA_CA has issued';
    await assert.rejects(asked(), { message });
    assert.equal(readToken(await asked(note, [])).signer.subject, 'CN=stranger');
    tsa.status = 503;
    await assert.rejects(asked(), { message: 'it answered 503' });
    tsa.status = 200;
    tsa.reply = async () => Buffer.from('no');
    await assert.rejects(asked(), { message: 'its response is not one to a time-stamp request' });
    // A request that asks for a hash which the authority does not take is granted nothing.
    const sha1 = Buffer.from('301f020101301d300906052b0e03021a05000410', 'hex');
    tsa.reply = async () => reply(Buffer.concat([sha1, Buffer.alloc(16)]));
    await assert.rejects(asked(), { message: /^it refused, with the status 2$/ });
  });

  it('are none when any of what they say, or of their signature, is another: byte by byte', async () => {
    tsa.reply = reply;
    const bytes = await asked();
    const token = readToken(bytes);
    const step = process.env.TEST_FLIPS === 'all' ? 1 : 13;
    for (let at = 0; at < bytes.length; at += step) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] as number) ^ 1;
      try {
        const read = readToken(changed);
        assert.deepEqual([read.time, read.imprint, read.nonce], [token.time, token.imprint, token.nonce], `byte ${at}`);
      } catch (error) {
        assert.ok(error instanceof TokenError, `byte ${at}: ${error}`);
      }
    }
    const hidden = bytes.indexOf(token.imprint.hash);
    bytes[hidden] = (bytes[hidden] as number) ^ 1;
    assert.throws(() => readToken(bytes), { message: 'says something else than was signed' });
    assert.throws(() => readToken(Buffer.alloc(70_000)), { message: 'is not a time-stamp token: it is too long' });
  });

  it('count only by a certificate that is for time stamps alone, that they name, and that was valid then', async () => {
    tsa.reply = reply;
    const at = (name: string) => join(folder, 'ca', name);
    writeFileSync(at('real.tst'), await asked());
    const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: join(folder, 'ca'), stdio: 'pipe' });
    openssl('cms', '-verify', '-noverify', '-binary', '-inform', 'DER', '-in', 'real.tst', '-out', 'info');
    const sign = (name: string, ...more: string[]) => {
      const what = ['-econtent_type', 'id-smime-ct-TSTInfo', '-binary', '-nodetach', '-in', 'info', '-outform', 'DER'];
      openssl('cms', '-sign', ...what, '-signer', `${name}.pem`, '-inkey', `${name}.key`, '-out', 'made.tst', ...more);
      return readToken(readFileSync(at('made.tst')));
    };
    // `openssl ts` makes no token with such certificates, `openssl cms` signs anything.
    assert.equal(sign('tsa', '-cades').signer.subject, 'CN=tsa');
    assert.equal(sign('rsa', '-cades', '-keyopt', 'rsa_padding_mode:pss').signer.subject, 'CN=rsa');
    assert.equal(sign('tsa', '-cades', '-keyid').signer.subject, 'CN=tsa');
    for (const [name, usage] of [
      ['lax', 'timeStamping'],
      ['wide', 'critical,timeStamping,serverAuth'],
      ['web', 'critical,serverAuth'],
    ] as const) {
      authority(name, { usage });
      assert.throws(() => sign(name, '-cades'), { message: 'is by a certificate that is not for time stamps alone' });
    }
    assert.throws(() => sign('tsa'), { message: 'does not name its certificate' });
    assert.throws(() => sign('tsa', '-cades', '-nocerts'), {
      message: /^is not a time-stamp token: a value with others in it is missing$/,
    });
    assert.throws(() => sign('tsa', '-cades', '-md', 'sha1'), {
      message: /^uses a hash that is not known here, 1\.3\.14\.3\.2\.26$/,
    });
    const said = readFileSync(at('info'));
    const year = said.indexOf(`${new Date().getUTCFullYear()}`);
    said.write('2099', year, 'latin1');
    writeFileSync(at('info'), said);
    assert.throws(() => sign('tsa', '-cades'), { message: 'is of a time at which its certificate was not valid' });
    said.write('20x9', year, 'latin1');
    writeFileSync(at('info'), said);
    assert.throws(() => sign('tsa', '-cades'), { message: /^is not a time-stamp token: / });
  });

  const config = {
    bcryptCost: 4,
    collections: [{ slug: 'posts', fields: [{ name: 'title', type: 'text' as const }] }],
  };
  const data = join(folder, 'data');
  let id = '';
  let checkpoint = '';
  let verifierKey = '';
  const verify = (environment: Record<string, string> = {}) => runHere(['verify', '--data', data], { environment });

  it('are kept, served, packed, and checked by annals verify and by openssl', async (t) => {
    tsa.reply = reply;
    const first = await startHere(t, config, { data });
    const { body } = await first.call('POST', '/api/collections/posts', { title: 'x' });
    id = body.id;
    await first.stop();
    tsa.queries.length = 0;
    const service = await startHere(t, config, { data, tsaUrl: tsa.url, tsaAllowPrivate: true, tsaCa: ca });
    const get = (path: string) => service.call('GET', path);
    await eventually(() => tsa.queries.length === 1);
    const covering = async () => (await get('/api/audit/stamps?covers=2')).body.stamped;
    const stamped = await askUntil(covering, ({ length }) => length > 0);
    const [{ size, tokens }] = stamped;
    checkpoint = stamped[0].checkpoint;
    assert.equal(size, 2);
    assert.deepEqual(
      tokens.map(({ authority: by }: { authority: string }) => by),
      [new URL(tsa.url).host],
    );
    const { time } = readToken(Buffer.from(tokens[0].token, 'base64'));
    assert.deepEqual((await get('/api/audit/stamps')).body.stamped, stamped);
    assert.equal((await get('/api/audit/stamps?covers=999')).status, 400);
    assert.equal((await get('/api/audit/stamps?cover=1')).status, 400);
    ({ verifierKey } = (await get('/api/audit/log')).body);

    const pack = join(folder, 'pack.zip');
    const answer = await fetch(`${service.url}/api/audit/bundles/posts/${id}`, { headers: { 'x-api-key': apiKey } });
    writeFileSync(pack, Buffer.from(await answer.arrayBuffer()));
    const out = join(folder, 'to check');
    const { exit, text } = await run(['--key', verifierKey, '--tokens', out, pack]);
    assert.equal(exit, 0, text);
    assert.match(
      text,
      /open +when the checkpoint of 2 events was there: .* says so in a time-stamp token, which is not checked here/,
    );
    const [, command = ''] = /Check it by: openssl (.* -CAfile) CA\.pem$/m.exec(text) ?? [];
    const checked = execFileSync('sh', ['-c', `openssl ${command} "$CA" 2>&1`], {
      env: { ...process.env, CA: join(caOf()) },
    });
    assert.match(checked.toString(), /^Verification: OK$/m);
    assert.equal(readdirSync(out).length, 2);
    assert.match(
      (await run(['--key', verifierKey, '--tokens', out, pack])).text,
      /is there, and nothing is overwritten/,
    );
    await service.stop();

    const sound = await verify({ ANNALS_TSA_CA: ca });
    assert.equal(sound.code, 0, sound.stdout);
    const seen = `note: the time-stamp authority ${new URL(tsa.url).host} has seen 1 checkpoint, the newest of 2 events at ${time}, `;
    assert.ok(sound.stdout.includes(seen), sound.stdout);
  });

  // This test goes on with the log of the test before, and so do those behind it.
  it('are told of by annals verify with whether their certificate is trusted, and are in a copy of log.db', async () => {
    assert.match(
      (await verify()).stdout,
      /before now, by a certificate that is not trusted: ANNALS_TSA_CA names those that are$/m,
    );
    assert.match(
      (await verify({ ANNALS_TSA_CA: other.ca })).stdout,
      /by a certificate that no certificate of ANNALS_TSA_CA has issued$/m,
    );
    const wrong = await verify({ ANNALS_TSA_CA: 'x' });
    assert.equal(wrong.code, 2);
    assert.match(wrong.stderr, /ANNALS_TSA_CA must be certificates in PEM: it has no certificate in PEM/);
    const copy = await run(['--key', verifierKey, '--tokens', join(folder, 'of the log'), join(data, 'log.db')]);
    assert.equal(copy.exit, 0, copy.text);
    assert.equal(readdirSync(join(folder, 'of the log')).length, 2);
  });

  it('are left out of the packs of another key, which has not signed what they are over', async (t) => {
    const replaced = ['signing-key', 'replace', '--reason', 'a test', '--data', data];
    assert.equal((await runHere(replaced)).code, 0);
    const later = await startHere(t, config, { data });
    const newest = await later.call('GET', '/api/audit/log');
    const again = await fetch(`${later.url}/api/audit/bundles/posts/${id}`, { headers: { 'x-api-key': apiKey } });
    const pack = join(folder, 'later.zip');
    writeFileSync(pack, Buffer.from(await again.arrayBuffer()));
    const taken = await run(['--key', newest.body.verifierKey, pack]);
    assert.equal(taken.exit, 0, taken.text);
    assert.equal((await later.call('GET', '/api/audit/stamps?covers=2')).body.stamped.length, 1);
    await later.stop();
  });

  it('are not sound in the place of another, or over another checkpoint', async () => {
    tsa.reply = reply;
    const db = new Database(join(data, 'log.db'));
    // The place of a newer one does not make it newer.
    db.exec('BEGIN; UPDATE checkpoints SET note = (SELECT note FROM checkpoints WHERE size = 2) WHERE size > 2');
    db.exec('COMMIT');
    const misplaced = await verify({ ANNALS_TSA_CA: ca });
    assert.match(misplaced.stdout, /NOT SOUND: .* is one of 2 events, and stands in the place of one of 3$/m);
    db.exec('DELETE FROM checkpoints WHERE size > 2');
    assert.equal(signedByLog(checkpoint), db.prepare('SELECT note FROM checkpoints WHERE size = 2').pluck().get());
    // Over another checkpoint, and rightly signed.
    db.prepare('UPDATE timestamps SET token = ?').run(await asked());
    db.close();
    const moved = await verify({ ANNALS_TSA_CA: ca });
    assert.equal(moved.code, 1);
    assert.match(
      moved.stdout,
      /NOT SOUND: the time-stamp token by \S+ of the checkpoint of position 2 is for something else/,
    );
  });

  it('are asked for every ten minutes at most, whatever starts and stops in between', async (t) => {
    tsa.reply = reply;
    tsa.queries.length = 0;
    const data = join(temporaryFolder(t), 'data');
    const grow = async () => {
      const service = await startHere(t, config, { data, tsaUrl: tsa.url, tsaAllowPrivate: true, tsaCa: ca });
      assert.equal((await service.call('POST', '/api/collections/posts', { title: 'x' })).status, 201);
      assert.equal((await service.call('GET', '/api/audit/consistency?from=1')).status, 200);
      return service;
    };
    const first = await grow();
    const db = new Database(join(data, 'log.db'));
    t.after(() => db.close());
    const count = db.prepare('SELECT count(*) FROM timestamps').pluck();
    await eventually(() => count.get() === 1);
    await first.call('POST', '/api/collections/posts', { title: 'y' });
    await first.stop();
    await (await grow()).stop();
    assert.deepEqual([tsa.queries.length, count.get()], [1, 1]);
    const before = new Date(Date.now() - 600_000).toISOString();
    db.prepare('UPDATE timestamps SET received_at = ?').run(before);
    const last = await grow();
    await eventually(() => count.get() === 2);
    await last.stop();
    assert.equal(tsa.queries.length, 2);
  });

  it('are kept with the time that is believed', async (t) => {
    tsa.reply = reply;
    const { log, path } = openTestLog(t);
    log.keepCheckpoint({ kind: 'signed', size: 1, note, signedAt: '2026-11-20T12:00:00.000Z' });
    const vault = openVault(join(temporaryFolder(t), 'vault.db'));
    const kept: CheckpointChange[] = [];
    const anchoring = openAnchoring({
      file: path,
      keys: portOf(vault).logKeys,
      keep: async (change) => {
        kept.push(change);
        log.keepCheckpoint(change);
      },
      store: () => assert.fail('nothing was looked at there'),
      webhook: null,
      authority: { url: tsa.url, allowPrivate: true, trusted },
      witnesses: [],
      onContradiction: assert.fail,
      log: createLog('info', { write: () => {} }),
      now: () => noon,
    });
    anchoring.wake();
    await eventually(() => kept.length === 1);
    await anchoring.close();
    vault.close();
    assert.deepEqual(
      kept.map((change) => change.kind === 'timestamped' && change.receivedAt),
      [new Date(noon).toISOString()],
    );
  });

  it('are read with what they are over at one moment, beside a service that goes on', async (t) => {
    tsa.reply = reply;
    const { log, path } = openTestLog(t);
    const keep = (size: number, token: Buffer) => {
      log.keepCheckpoint({ kind: 'signed', size, note, signedAt: '2026-11-20T12:00:00.000Z' });
      const said = { authority: 'tsa', token, receivedAt: '2026-11-20T12:00:00.000Z' };
      log.keepCheckpoint({ kind: 'timestamped', size, signed: note, ...said });
    };
    const token = await asked();
    keep(1, token);
    let isNext = true;
    const reads = new Database(path, {
      readonly: true,
      verbose: (sql) => {
        if (!isNext || !/timestamps/.test(String(sql))) return;
        isNext = false;
        keep(2, token);
      },
    });
    const found = await vouchedFor(readVouched(reads), { witnesses: [], trusted });
    reads.close();
    assert.equal(isNext, false);
    assert.equal(found.finding, null);
    assert.match(
      found.notes.join('\n'),
      /^the time-stamp authority tsa has seen 1 checkpoint, the newest of 1 event at /,
    );
  });

  function caOf(): string {
    return join(folder, 'ca', 'ca.pem');
  }
});

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it, type TestContext } from 'node:test';
import Database from 'better-sqlite3';
import { cosignaturesOf, parseWitnessKey } from '../../../events/proof/cosignatures.ts';
import { parseNote } from '../../../events/proof/notes.ts';
import { openVault } from '../../../events/vault/vault.ts';
import { requireSecrecy } from '../../../server/running/engine/checkpointing.ts';
import { parseWitness } from '../../../server/settings/cosigners.ts';
import { defaultSettings } from '../../../server/settings/settings.ts';
import { run } from '../../../verify/annals-verify.mjs';
import { type HereService, startHere } from '../../helpers/embedded.ts';
import { runHere } from '../../helpers/in-process.ts';
import { apiKey, temporaryFolder } from '../../helpers/service.ts';
import { askUntil, eventually, useContext } from '../../helpers/shared.ts';
import { cosignature, createWitnessKey, startWitness, type Witness } from '../../helpers/witness.ts';

const config = { bcryptCost: 4, collections: [{ slug: 'posts', fields: [{ name: 'title', type: 'text' }] }] };

async function write(service: HereService): Promise<string> {
  const { status, body } = await service.call('POST', '/api/collections/posts', { title: 'x' });
  assert.equal(status, 201);
  return body.doc?.id ?? body.id;
}

async function get(service: HereService, path: string): Promise<Buffer> {
  const response = await fetch(service.url + path, { headers: { 'x-api-key': apiKey } });
  assert.equal(response.status, 200, path);
  return Buffer.from(await response.arrayBuffer());
}

const log = async (service: HereService) => JSON.parse((await get(service, '/api/audit/log')).toString());

/** The note of the newest checkpoint. */
async function newest(service: HereService): Promise<string> {
  return (await log(service)).checkpoints[0]?.note ?? '';
}

/** The note of the newest checkpoint, once somebody has cosigned it. */
function cosigned(service: HereService, name: string): Promise<string> {
  return askUntil(
    () => newest(service),
    (note) => note.includes(`— ${name} `),
  );
}

/** A service whose checkpoints a witness cosigns that knows its log. */
async function start(t: TestContext, name?: string) {
  const witness = await startWitness(t, name);
  const data = join(temporaryFolder(t), 'data');
  const first = await startHere(t, config, { data });
  const { verifierKey } = await log(first);
  witness.trust(verifierKey);
  const id = await write(first);
  await first.stop();
  const open = () => startHere(t, config, { data, witnesses: [witness.setting], witnessAllowPrivate: true });
  return { witness, data, verifierKey, id, open };
}

describe('witnesses', () => {
  const context = useContext();
  let started: Awaited<ReturnType<typeof start>>;
  before(async () => {
    started = await start(context);
  });

  it('cosign checkpoints, which are served, packed and checked with that', async (t) => {
    const { witness, verifierKey, id, open } = started;
    // So that it may be asked again at once.
    witness.now = () => new Date(Date.now() - 60_000);
    const service = await open();
    const note = await cosigned(service, witness.name);
    const asked = witness.answers.length;
    const parsed = parseNote(note);
    assert.ok(parsed);
    const { cosignatures, wrong } = cosignaturesOf(parsed, [parseWitnessKey(witness.verifierKey)]);
    assert.deepEqual([cosignatures.length, wrong], [1, null]);
    assert.ok(Math.abs(witness.now().getTime() - Date.parse(cosignatures[0]?.time ?? '')) < 60_000);
    assert.equal((await get(service, '/api/audit/checkpoint')).toString(), note);

    // Signed after that and not cosigned: what proves the time is the one before.
    await write(service);
    const folder = temporaryFolder(t);
    const pinned = ['--key', verifierKey, '--witness', witness.verifierKey];
    for (const [name, path, seen] of [
      [
        'pack.zip',
        `/api/audit/bundles/posts/${id}`,
        / proven +all that is shown was there at \S+, for the witness witness\.example\/w1 cosigned \d+ events$/m,
      ],
      ['export.zip', '/api/audit/export', / proven +the witness witness\.example\/w1 cosigned \d+ events at \S+$/m],
    ] as const) {
      const file = join(folder, name);
      writeFileSync(file, await get(service, path));
      const { exit, text } = await run([...pinned, file]);
      assert.equal(exit, 0, text);
      assert.match(text, seen);
      assert.match(
        text,
        /^newest time vouched for from outside: \S+, \d+ \w+ before now, by witness\.example\/w1, of \d+ events$/m,
      );
      const bare = await run(['--key', verifierKey, file]);
      assert.match(bare.text, / open +what witness\.example\/w1 cosigned: its key was not given, by --witness$/m);
      assert.match(bare.text, /^newest time vouched for from outside: none$/m);
    }
    await service.stop();
    assert.equal(witness.answers.length, asked, 'a minute has not passed yet: the next start asks');
  });

  // This test goes on with the state that the test before has left, and so does the one behind it.
  it('are asked by a start what they have seen, and no sooner than a minute after they have cosigned', async () => {
    const { witness, data, verifierKey, open } = started;
    const asked = witness.answers.length;
    // A start does not know what the witness has seen, and asks it.
    witness.now = () => new Date();
    const again = await open();
    await cosigned(again, witness.name);
    await again.stop();
    assert.deepEqual(
      witness.answers.slice(asked).map(({ status, old }) => [status, old > 0]),
      [
        [409, false],
        [200, true],
      ],
    );
    // The copy of log.db holds them all.
    const copy = await run(['--key', verifierKey, '--witness', witness.verifierKey, join(data, 'log.db')]);
    assert.equal(copy.exit, 0, copy.text);
    assert.match(copy.text, / proven +all that is shown was there at/);

    const soon = await open();
    await write(soon);
    await soon.stop();
    assert.equal(witness.answers.length, asked + 2, 'it has cosigned less than a minute ago');
  });

  it('are named by annals verify, for which a cosignature of something else is not sound', async () => {
    const { witness, data } = started;
    const verified = await runHere(['verify', '--data', data], { environment: { ANNALS_WITNESSES: witness.setting } });
    assert.equal(verified.code, 0, verified.stdout);
    const says =
      /^note: the witness witness\.example\/w1 has seen \d+ checkpoints?, the newest of \d+ events at \S+, [\d.]+ \w+ before now$/m;
    assert.match(verified.stdout, says);
    const unknown = await runHere(['verify', '--data', data]);
    assert.match(
      unknown.stdout,
      /^note: "witness\.example\/w1" has cosigned checkpoints, and ANNALS_WITNESSES does not name its key$/m,
    );
    const db = new Database(join(data, 'log.db'));
    // A right signature, over something else.
    const line = cosignature('log\n1\nx\n\n— log AAAAAAA=\n', witness, new Date());
    db.prepare('UPDATE checkpoints SET note = note || ? WHERE size = (SELECT max(size) FROM checkpoints)').run(line);
    db.close();
    const forged = await runHere(['verify', '--data', data], { environment: { ANNALS_WITNESSES: witness.setting } });
    assert.deepEqual(
      [forged.code, /NOT SOUND: the cosignature by witness\.example\/w1 of the checkpoint/.test(forged.stdout)],
      [1, true],
      forged.stdout,
    );
  });

  it('vouch for nothing any more by what a key has signed that was disowned since', async (t) => {
    const { witness, data, verifierKey, open } = await start(t);
    const service = await open();
    await cosigned(service, witness.name);
    await service.stop();
    const vault = openVault(join(data, 'vault.db'));
    const [logId = '', id = ''] = verifierKey.split('+');
    vault.logKeys.replace(logId, { disowned: [{ id }], reason: 'a test' });
    vault.close();
    await (await startHere(t, config, { data })).stop();
    const { code, stdout } = await runHere(['verify', '--data', data], {
      environment: { ANNALS_WITNESSES: witness.setting },
    });
    assert.equal(code, 0, stdout);
    assert.match(stdout, /^note: checkpoints that the log is not held against, for their key was given up: \d+$/m);
    assert.match(stdout, /^note: no witness or authority says when a checkpoint was there$/m);
  });

  const note = 'log\n1\nx\n\n— log AAAAAAA=\n';
  const other = createWitnessKey('witness.example/w1');
  for (const [what, instead, says] of [
    [
      'have seen a longer log',
      () => ({ status: 409, type: 'text/x.tlog.size', body: '999999\n' }),
      /it has seen a log of 999999 events, this one has \d+/,
    ],
    [
      'have seen another log',
      () => ({ status: 409, type: 'text/x.tlog.size', body: '0\n' }),
      /at event \d+ it has seen another log than this one/,
    ],
    [
      'contradict without a size',
      () => ({ status: 409, body: 'no' }),
      /at event \d+ it has seen another log than this one/,
    ],
    [
      'cosign something else',
      (_body, witness) => ({ status: 200, body: cosignature(note, witness, new Date()) }),
      /its cosignature does not fit the checkpoint and its key/,
    ],
    [
      'cosign by another key',
      (body) => ({ status: 200, body: cosignature(body.slice(body.indexOf('\n\n') + 2), other, new Date()) }),
      /its answer holds no cosignature by its key/,
    ],
    ['answer too much', () => ({ status: 200, body: 'x'.repeat(70_000) }), /its answer has more than 65536 bytes/],
    ['refuse', () => ({ status: 403, body: '' }), /it answered 403/],
  ] satisfies [string, (body: string, witness: Witness) => ReturnType<NonNullable<Witness['instead']>>, RegExp][]) {
    it(`that ${what} are named in the log, and nothing of them is kept`, async (t) => {
      const witness = await startWitness(t, other.name);
      witness.instead = (body) => instead(body, witness);
      const service = await startHere(t, config, { witnesses: [witness.setting], witnessAllowPrivate: true });
      await write(service);
      await get(service, '/api/audit/checkpoint');
      await eventually(() => service.output().stderr.includes('checkpoints cannot be cosigned by the witness'));
      const warned = service.lines().find(({ msg }) => msg?.startsWith('checkpoints cannot be cosigned'));
      assert.match(warned.msg, says);
      assert.doesNotMatch(await newest(service), /witness/);
      await service.stop();
    });
  }
});

describe('witnesses and time-stamp authorities at an address that is not public', () => {
  it('are not asked unless that is allowed, and the log says by which settings', async (t) => {
    const witness = await startWitness(t);
    // A time-stamp authority would be asked there too.
    const tsaUrl = `${witness.url}/secret`;
    const service = await startHere(t, config, { witnesses: [witness.setting], tsaUrl });
    await write(service);
    await get(service, '/api/audit/checkpoint');
    const warned = () =>
      service.lines().flatMap(({ msg }) => (/^checkpoints cannot be/.test(msg) ? [String(msg).split('; ')[0]] : []));
    await eventually(() => warned().length === 2);
    await service.stop();
    const { host } = new URL(tsaUrl);
    assert.deepEqual(warned().sort(), [
      'checkpoints cannot be cosigned by the witness witness.example/w1: its address is not a public one, which ANNALS_WITNESS_ALLOW_PRIVATE=true allows',
      `checkpoints cannot be time-stamped by ${host}: its address is not a public one, which ANNALS_TSA_ALLOW_PRIVATE=true allows`,
    ]);
    assert.deepEqual(witness.answers, []);
  });

  it('get checkpoints in production only if that is allowed; an authority gets a hash, and needs no permission', () => {
    const { verifierKey } = createWitnessKey('w.example');
    const open = {
      ...defaultSettings,
      isProduction: true,
      witnesses: [`${verifierKey}=http://w.example/secret`],
      tsaUrl: 'http://tsa.example/secret',
    };
    assert.throws(() => requireSecrecy(open), {
      message:
        'ANNALS_WITNESSES must be https addresses in production; ANNALS_WITNESS_ALLOW_PRIVATE=true allows http to a network of your own',
    });
    assert.throws(() => requireSecrecy({ ...open, witnesses: [], webhook: 'http://hook.example/secret' }), {
      message:
        'ANNALS_CHECKPOINT_WEBHOOK must be https in production; ANNALS_CHECKPOINT_WEBHOOK_ALLOW_PRIVATE=true allows http to a network of your own',
    });
    requireSecrecy({ ...open, isProduction: false });
    requireSecrecy({ ...open, witnessAllowPrivate: true });
    requireSecrecy({ ...open, witnesses: [`${verifierKey}=https://w.example/at`] });
  });
});

describe('the setting of witnesses', () => {
  const { verifierKey } = createWitnessKey('w.example');

  it('is a key and an address, told apart at the = behind the key', () => {
    const { key, prefix } = parseWitness(`${verifierKey}=https://w.example/a=b/c`);
    assert.deepEqual([key.name, prefix], ['w.example', 'https://w.example/a=b/c/']);
    assert.equal(parseWitness(`${verifierKey}=http://u:p@w.example`).prefix, 'http://u:p@w.example/');
  });

  it('is refused naming the entry, and no address is shown', async () => {
    const logKey = verifierKey.replace(/\+B([A-Za-z0-9+/]{43})$/, '+A$1');
    for (const [setting, says] of [
      ['secret', 'entry 1 has no http or https address without ? and # after the = behind its key'],
      [`${verifierKey}=ftp://secret`, 'entry 1 has no http or https address'],
      [`${verifierKey}=https://secret?x`, 'entry 1 has no http or https address'],
      [`${logKey}=https://secret`, 'entry 1 has no verifier key of a witness'],
      [`${verifierKey}=https://secret,x`, 'entry 2 has no http or https address'],
      [`${verifierKey}=https://secret,${verifierKey}=https://other`, 'names the witness "w.example" twice'],
      ['', 'holds an empty value'],
    ] as const) {
      const { code, stderr } = await runHere(['verify', '--data', '/nowhere'], {
        environment: { ANNALS_WITNESSES: setting },
      });
      assert.equal(code, 2);
      assert.match(stderr, /ANNALS_WITNESSES/);
      assert.ok(stderr.includes(says), stderr);
      assert.doesNotMatch(stderr, /secret/);
    }
  });
});

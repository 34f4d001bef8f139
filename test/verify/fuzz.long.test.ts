import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { deflateRawSync } from 'node:zlib';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { run } from '../../verify/annals-verify.mjs';
import { useFolder } from '../helpers/shared.ts';
import {
  bundleOf,
  createHistory,
  createSigner,
  exportOf,
  noteOf,
  type Thing,
  writeLog,
  writeNote,
  zipOf,
} from './forger.ts';
import { bundleIn, erased, fileBytes, lively, medium, mediumNow, post, postNow, verdictOf } from './histories.ts';

const folder = useFolder();
const signer = createSigner();
const log = erased(lively());
const kept = writeNote(join(folder, 'kept.txt'), noteOf(log, [signer], 6));
const pinned = ['--key', signer.verifierKey, '--checkpoint', kept];
const file = join(folder, 'fuzz.zip');
/** Every byte takes a minute; `FUZZ=1` says that there is time for that. */
const stride = process.env.FUZZ ? 1 : 23;

async function verdictOn(bytes: Buffer, args = pinned): Promise<string> {
  writeFileSync(file, bytes);
  return verdictOf(...args, file);
}

/** A small bundle with a file, as ZIP. */
async function smallZip(isLarge = false): Promise<Buffer> {
  const files = [{ sha256: mediumNow.sha256, bytes: fileBytes.length, version: 1, included: true }];
  const bundle = bundleOf(log, signer, medium, mediumNow, { earlier: [6], files });
  const content = { 'bundle.json': JSON.stringify(bundle), [`files/${mediumNow.sha256}`]: fileBytes };
  return zipOf({ ...content, 'checkpoint.txt': bundle.checkpoint }, isLarge);
}

/**
 * The bytes of a ZIP that say nothing about what is in it: times, versions, attributes, and the bits after a deflated
 * end.
 */
function idleBytes(zip: Buffer): Set<number> {
  const idle = new Set<number>();
  const range = (from: number, to: number) => {
    for (let at = from; at < to; at += 1) idle.add(at);
  };
  let at = zip.readUInt32LE(zip.length - 6);
  while (zip.readUInt32LE(at) === 0x02014b50) {
    const local = zip.readUInt32LE(at + 42);
    const data = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28);
    range(at + 4, at + 8);
    range(at + 12, at + 16);
    range(at + 36, at + 42);
    range(local + 4, local + 6);
    range(local + 10, local + 14);
    idle.add(data + zip.readUInt32LE(at + 20) - 1);
    // If there is an extra field, it names the time once more.
    range(at + 46 + zip.readUInt16LE(at + 28), at + 46 + zip.readUInt16LE(at + 28) + zip.readUInt16LE(at + 30));
    range(local + 30 + zip.readUInt16LE(local + 26), data);
    at += 46 + zip.readUInt16LE(at + 28) + zip.readUInt16LE(at + 30);
  }
  return idle;
}

describe('annals-verify on damaged files', () => {
  it('finds every byte that was changed in a ZIP', async () => {
    const zip = await smallZip();
    assert.match(await verdictOn(zip), /^0 SOUND/);
    const idle = idleBytes(zip);
    for (let at = Math.floor(Math.random() * stride); at < zip.length; at += stride) {
      const bytes = Buffer.from(zip);
      bytes[at] = (bytes[at] as number) ^ (1 + Math.floor(Math.random() * 255));
      const verdict = await verdictOn(bytes);
      assert.match(verdict, idle.has(at) ? /^[012] / : /^[12] /, `byte ${at}: ${verdict}`);
    }
  });

  it('reads archives that are written as those of more than 4 GB are', async () => {
    const zip = await smallZip(true);
    assert.match(await verdictOn(zip), /^0 SOUND/);
    const end = zip.length - 98;
    for (const at of [
      end,
      end + 4,
      end + 16,
      end + 24,
      end + 32,
      end + 40,
      end + 48,
      end + 56,
      end + 60,
      end + 64,
      end + 72,
    ]) {
      const bytes = Buffer.from(zip);
      bytes[at] = (bytes[at] as number) ^ 1;
      assert.match(await verdictOn(bytes), /^2 UNDECIDED: /, `byte ${at - end} of the end`);
    }
  });

  it('refuses an archive whose parts do not fit each other, each by its name', async () => {
    const zip = await smallZip();
    const end = zip.length - 22;
    const first = zip.readUInt32LE(end + 16);
    const descriptor = zip.indexOf('PK\x07\x08');
    const data = 30 + 'bundle.json'.length;
    for (const [at, says] of [
      [end + 4, /several parts/],
      [end + 8, /several parts/],
      [end + 12, /not in its place/],
      [end + 16, /not in its place/],
      [end + 20, /without a comment/],
      [first, /directory of the archive is damaged/],
      [first + 8, /names bundle\.json in two ways|not know/],
      [first + 32, /has a comment/],
      [first + 46, /names bundle\.|names .*in two ways/],
      [14, /gives bundle\.json two sizes/],
      [18, /gives bundle\.json two sizes/],
      [22, /gives bundle\.json two sizes/],
      [30, /in two ways/],
      [descriptor + 4, /gives files\/\w+ two sizes/],
      [descriptor + 8, /gives files\/\w+ two sizes/],
      [descriptor + 12, /gives files\/\w+ two sizes/],
      [data + 20, /bundle\.json (cannot be unpacked|in the archive is damaged|is larger)|NOT SOUND/],
    ] as const) {
      const bytes = Buffer.from(zip);
      bytes[at] = (bytes[at] as number) ^ 1;
      assert.match(await verdictOn(bytes), says, `byte ${at}`);
    }
    // A checksum that is told alike in both places, and fits nothing.
    const bytes = Buffer.from(zip);
    for (const at of [14, first + 16]) bytes[at] = (bytes[at] as number) ^ 1;
    assert.match(await verdictOn(bytes), /^2 UNDECIDED: bundle\.json in the archive is damaged/);
  });

  it('finds bytes that are hidden between entries, with all offsets put right, and entries that are enciphered', async () => {
    const zip = await smallZip();
    const end = zip.length - 22;
    const first = zip.readUInt32LE(end + 16);
    const hide = (at: number, ...offsets: number[]) => {
      const bytes = Buffer.concat([zip.subarray(0, at), Buffer.from('PK\x03\x04hidden'), zip.subarray(at)]);
      for (const offset of offsets) bytes.writeUInt32LE(bytes.readUInt32LE(offset + 10) + 10, offset + 10);
      return bytes;
    };
    assert.match(
      await verdictOn(hide(first, end + 16)),
      /^2 UNDECIDED: the archive holds bytes that belong to no entry/,
    );
    const second = zip.indexOf('PK\x01\x02', first + 4);
    const third = zip.indexOf('PK\x01\x02', second + 4);
    const between = hide(zip.readUInt32LE(second + 42), second + 42, third + 42, end + 16);
    assert.match(await verdictOn(between), /^2 UNDECIDED: the archive holds bytes that belong to no entry/);
    for (const [field, value] of [
      ['flags', 1],
      ['method', 12],
    ] as const) {
      const bytes = Buffer.from(zip);
      const [inDirectory, inLocal] = field === 'flags' ? [8, 6] : [10, 8];
      for (const at of [first + inDirectory, inLocal]) bytes.writeUInt16LE(value, at);
      assert.match(
        await verdictOn(bytes),
        /^2 UNDECIDED: bundle\.json is packed in a way that this verifier does not know/,
      );
    }
  });

  it('finds every cut, and bytes that were put in front, between and behind', async () => {
    const zip = await smallZip();
    for (let length = 0; length < zip.length; length += stride * 5) {
      assert.match(await verdictOn(zip.subarray(0, length)), /^2 /, `cut at ${length}`);
    }
    const middle = zip.indexOf('PK\x01\x02');
    for (const bytes of [
      Buffer.concat([Buffer.from('PK'), zip]),
      Buffer.concat([zip, Buffer.of(0)]),
      Buffer.concat([zip.subarray(0, middle), Buffer.from('more'), zip.subarray(middle)]),
      Buffer.concat([zip, zip]),
    ]) {
      assert.match(await verdictOn(bytes), /^2 UNDECIDED: the (archive|directory of the archive) /);
    }
  });

  it('finds every value of a bundle that was changed, taken away or put in another place', async () => {
    const bundle = bundleOf(log, signer, post, postNow, { earlier: [6], isComplete: true });
    assert.match(await verdictOf(...pinned, bundleIn(folder, 'whole', bundle)), /^0 SOUND/);
    const paths = pathsIn(bundle).filter((path) => path.join() !== 'rest');
    const value = fc.oneof(
      fc.jsonValue({ maxDepth: 2 }),
      fc.constant(undefined),
      fc.constantFrom(...paths).map((path) => valueAt(bundle, path)),
    );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...paths), value, async (path, replacement) => {
        const altered = structuredClone(bundle);
        const holder = valueAt(altered, path.slice(0, -1));
        if (replacement === undefined && Array.isArray(holder)) holder.splice(Number(path.at(-1)), 1);
        else if (replacement === undefined) delete holder[path.at(-1) as string];
        else Object.defineProperty(holder, path.at(-1) as string, { value: replacement, enumerable: true });
        if (JSON.stringify(altered) === JSON.stringify(bundle)) return;
        // A missing newest schema shows only if all later headers are there, see below.
        if (path.join() === `schemas,${bundle.schemas.length - 1}` && replacement === undefined) return;
        const verdict = await verdictOf(...pinned, bundleIn(folder, 'altered', altered));
        assert.match(verdict, /^[12] (NOT SOUND|UNDECIDED): /, `${path.join('.')} → ${JSON.stringify(replacement)}`);
        // Whatever it is, it was looked at before it was used.
        assert.doesNotMatch(verdict, /it cannot be read/, `${path.join('.')} → ${JSON.stringify(replacement)}`);
      }),
      { numRuns: process.env.FUZZ ? 10_000 : 250 },
    );
  });

  it('finds what of a log.db was changed that the events are made of', async () => {
    const path = join(folder, 'log.db');
    writeLog(path, log, [noteOf(log, [signer])]);
    const whole = readFileSync(path);
    const content = eventsIn(path);
    const altered = join(folder, 'altered.db');
    for (let round = 0; round < (process.env.FUZZ ? 5000 : 120); round += 1) {
      const bytes = Buffer.from(whole);
      const at = Math.floor(Math.random() * bytes.length);
      bytes[at] = (bytes[at] as number) ^ (1 + Math.floor(Math.random() * 255));
      writeFileSync(altered, bytes);
      const verdict = await verdictOf(...pinned, altered);
      assert.match(verdict, /^[012] /);
      if (verdict.startsWith('0')) assert.deepEqual(eventsIn(altered), content, `byte ${at}`);
    }
  });
});

describe('annals-verify on hostile files', () => {
  it('unpacks no more than an archive admits to', async () => {
    const bomb = await zipOf({ 'bundle.json': Buffer.alloc(3_000_000, 32) });
    const sizes = [bomb.indexOf('PK\x01\x02') + 24, 22];
    for (const at of sizes) bomb.writeUInt32LE(100, at);
    assert.match(await verdictOn(bomb), /^[12] .*(larger than the archive says|two sizes)/);
    const large = await zipOf({ 'bundle.json': deflateRawSync(Buffer.alloc(10)) });
    large.writeUInt32LE(0xfffffff0, large.indexOf('PK\x01\x02') + 24);
    large.writeUInt32LE(0xfffffff0, 22);
    assert.match(await verdictOn(large), /^2 UNDECIDED: bundle\.json has more than/);
  });

  it('knows no paths but its own', async () => {
    for (const name of ['files/..', '../bundle.json', '/etc/passwd', 'files/x', 'a\\b', 'sub/bundle.json']) {
      const zip = await zipOf({ 'bundle.json': '{}', xxxxxxxxxxxxxxx: '' });
      const place = Buffer.from(name.padEnd(15, 'x').slice(0, 15));
      for (let at = zip.indexOf('xxxxxxxxxxxxxxx'); at >= 0; at = zip.indexOf('xxxxxxxxxxxxxxx', at + 1))
        place.copy(zip, at);
      assert.match(await verdictOn(zip), /^2 UNDECIDED: the archive has an entry/, name);
    }
    const linked = join(folder, 'linked');
    mkdirSync(linked);
    symlinkSync('/etc/hostname', join(linked, 'bundle.json'));
    const nested = bundleIn(folder, 'nested', {});
    mkdirSync(join(nested, 'files', 'more'));
    assert.match(await verdictOf(...pinned, nested), /^2 UNDECIDED: files\/more is no file/);
    const none = join(folder, 'none');
    mkdirSync(none);
    assert.match(await verdictOf('--checkpoints', none, file), /^2 UNDECIDED: there are no checkpoints in/);
    assert.match(await verdictOf(...pinned, none), /^2 UNDECIDED: .*holds no bundle\.json or manifest\.json/);
    assert.match(await verdictOf(...pinned, linked), /^2 UNDECIDED: bundle\.json does not belong in the folder/);
  });

  it('is not moved by names that objects have of themselves', async () => {
    const { entries, record } = createHistory();
    record('system/schema', 'schema.changed', { schema: { collections: [], globals: [] } });
    record(
      post,
      'document.created',
      JSON.parse('{"id":"1","__proto__":{"polluted":true},"constructor":1,"toString":2}'),
    );
    record(
      post,
      'document.updated',
      JSON.parse('{"set":{"__proto__":{"polluted":2}},"unset":["constructor","hasOwnProperty"]}'),
    );
    const document = JSON.parse('{"id":"1","__proto__":{"polluted":2},"toString":2}');
    const path = bundleIn(folder, 'names', bundleOf(entries, signer, post, document));
    assert.match(await verdictOf('--key', signer.verifierKey, path), /^0 SOUND/);
    const other = JSON.parse('{"id":"1","__proto__":{"polluted":true},"toString":2}');
    const lie = bundleIn(folder, 'other-names', bundleOf(entries, signer, post, other));
    assert.match(await verdictOf('--key', signer.verifierKey, lie), /^1 NOT SOUND: .*differ in __proto__/);
    assert.equal(({} as Thing).polluted, undefined);
  });

  it('ends on what is nested too deeply, and prints no control characters', async () => {
    const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
    const path = bundleIn(folder, 'deep', {});
    writeFileSync(join(path, 'bundle.json'), `{"format":${deep}}`);
    assert.match(await verdictOf(...pinned, path), /^[12] /);
    const bundle = { ...bundleOf(log, signer, post, postNow), origin: 'annals/\u001b[2J\u0007\u202e' };
    const { text } = await run([...pinned, bundleIn(folder, 'control', bundle)]);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are looked for
    assert.doesNotMatch(text, /[\x00-\x09\x0b-\x1f\u202e]/);
    assert.match(text, /the bundle names the log "annals\/\\u001b\[2J/);
  });
});

describe('annals-verify as a command', () => {
  const command = fileURLToPath(new URL('../../verify/annals-verify.mjs', import.meta.url));

  it('runs alone, away from the service, and by a link', async () => {
    const alone = join(folder, 'somewhere');
    mkdirSync(alone);
    cpSync(command, join(alone, 'annals-verify.mjs'));
    symlinkSync(join(alone, 'annals-verify.mjs'), join(alone, 'link'));
    writeFileSync(join(alone, 'key.txt'), `${signer.verifierKey}\n`);
    const { manifest, text } = exportOf(log, signer, 1, 16);
    const zip = await zipOf({ 'manifest.json': JSON.stringify(manifest), 'events.ndjson': text });
    writeFileSync(join(alone, 'export.zip'), zip);
    const options = { cwd: alone, env: {} };
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['link', '--key-file', 'key.txt', 'export.zip'],
      options,
    );
    assert.match(stdout, /^export of annals\/[\s\S]*\nSOUND \(16 events/);
  });

  it('answers wrong usage with 2 and what is right', async () => {
    const wrong: [string[], RegExp][] = [
      [[], /^2[\s\S]*name one PATH/],
      [['a', 'b'], /^2[\s\S]*name one PATH/],
      [['--kee', 'x', 'a'], /^2[\s\S]*Unknown option '--kee'/],
      [['--key', 'x', file], /^2[\s\S]*x is no verifier key/],
      [['--key', signer.verifierKey.replace('+', '+0').slice(0, -1), file], /^2[\s\S]*is no verifier key/],
      [['--key', signer.verifierKey.replace(/^annals/, 'annal5'), file], /^2[\s\S]*is no verifier key/],
      [['--key', signer.verifierKey, '--trust-inside', file], /^2[\s\S]*exclude each other/],
      [['--key', signer.verifierKey, 'nothing-there'], /^2[\s\S]*there is no nothing-there/],
      [['--key', signer.verifierKey, command], /^2[\s\S]*is no bundle, no export, no checkpoint and no log\.db/],
      [
        ['--key', signer.verifierKey, '--files', folder, bundleIn(folder, 'empty', {})],
        /^2[\s\S]*--files goes with log\.db only/,
      ],
      [['--key', signer.verifierKey, '--checkpoint', 'nothing-there', file], /^2[\s\S]*nothing-there/],
      [['--key', signer.verifierKey, join(folder, 'somewhere')], /^2[\s\S]*does not belong|holds no bundle/],
    ];
    for (const [args, says] of wrong) {
      const { exit, text } = await run(args);
      assert.match(`${exit} ${text}`, says);
      assert.doesNotMatch(text, /\n +at /, 'no stack');
    }
    assert.match((await run(['--help'])).text, /^Usage/);
  });
});

function pathsIn(value: Thing, path: string[] = []): string[][] {
  if (value === null || typeof value !== 'object') return [path];
  const inside = Object.keys(value).flatMap((name) => pathsIn(value[name], [...path, name]));
  return path.length > 0 ? [path, ...inside] : inside;
}

function valueAt(value: Thing, path: readonly string[]): Thing {
  return path.reduce((holder, name) => holder[name], value);
}

function eventsIn(path: string): unknown[] {
  const db = new Database(path, { readonly: true });
  try {
    return db
      .prepare('SELECT position, header, body FROM headers LEFT JOIN payloads USING (position) ORDER BY position')
      .all();
  } finally {
    db.close();
  }
}

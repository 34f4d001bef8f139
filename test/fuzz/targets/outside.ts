import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { after } from 'node:test';
import {
  type ArchiveEntry,
  archiveOf,
  type BackupManifest,
  blobEntry,
  names,
  textEntry,
} from '../../../cli/backup/archive.ts';
import { encrypted } from '../../../cli/backup/encryption.ts';
import { readBackup } from '../../../cli/backup/sources.ts';
import { parseWitnessKey } from '../../../events/proof/cosignatures.ts';
import { readHandover, signHandover } from '../../../events/proof/handovers.ts';
import {
  type Checkpoint,
  checkpointText,
  openNote,
  parseCheckpoint,
  parseNote,
  parseVerifierKey,
  signerOf,
} from '../../../events/proof/notes.ts';
import { bodiesIn, buildSegment, readIndex, SegmentFormatError } from '../../../events/segments/segment-file.ts';
import { tokenIn } from '../../../server/audit/notary/stamping.ts';
import { isVouchedFor, readToken, type Token, TokenError } from '../../../server/audit/notary/time-stamp-tokens.ts';
import { StartError } from '../../../server/writer/writer.ts';
import { messageOf } from '../../../storage/errors.ts';
import { openFolderFiles } from '../../../storage/folder-files.ts';
import { run } from '../../../verify/annals-verify.mjs';
import { keptInputs } from '../kept.ts';
import { orRefused, orRefusedLater, type Target } from '../target.ts';

/** The hash and the nonce that the kept time stamps were asked for with. */
const stamped = { sha256: hash('sha256', 'kept'), nonce: 4711n };

/** The answer of an authority (RFC 3161): from true ones of OpenSSL. An altered one says what they say, or nothing. */
const timeStamps: Target = {
  words: ['3080', '3082', '3180', 'a003', 'a080', '0603', '020101', '0420', '0500', '1f8f', 'df', '2480', '0101ff']
    .map((hex) => Buffer.from(hex, 'hex'))
    .concat(Buffer.from('\x18\x0f20261129000000Z'), Buffer.from('\x18\x1320261129000000.999Z')),
  read(input) {
    const bytes = orRefused(() => tokenIn(input), isNoAnswer);
    const token = bytes && orRefused(() => readToken(bytes), isOf(TokenError));
    if (!token) return;
    const { imprint, nonce, time, certificates } = token;
    assert.deepEqual(
      [imprint.algorithm, imprint.hash.toString('hex'), nonce],
      ['sha256', stamped.sha256, stamped.nonce],
    );
    assert.ok(trueTimes.has(time), `it says ${time}`);
    isVouchedFor(token, []);
    for (const one of certificates) isVouchedFor(token, [one]);
  },
};
const isNoAnswer = (error: unknown) =>
  /^(its response is not one to a time-stamp request|it refused, with the status -?\d+)$/.test(messageOf(error));
const granted = [...keptInputs('time-stamps')].filter(([name]) => name.startsWith('granted-'));
const trueTimes = new Set(granted.map(([, bytes]): Token['time'] => readToken(tokenIn(bytes)).time));

const signer = signerOf('annals/kept', Buffer.alloc(32, 1));
const next = signerOf('annals/kept', Buffer.alloc(32, 2));
const head = { size: 5, root: Buffer.alloc(32, 3), time: '2026-11-29T00:00:00.000Z' };
const signedTexts = [checkpointText(signer.name, head), checkpointText(signer.name, { ...head, time: null })];
const handover = signHandover(signer, next, head);
const known = [signer, next].map(({ key }) => parseVerifierKey(key));

/** Notes, checkpoints, hand-overs and keys: what an altered note says, one of the keys has signed. */
const notes: Target = {
  seeds: [...signedTexts.map((text) => signer.sign(text)), handover, ...signedTexts, signer.key, next.key].map((text) =>
    Buffer.from(text),
  ),
  words: [
    '\n\n',
    '\n',
    '\u2014 ',
    '\u2014 annals/kept ',
    '+',
    ' ',
    'time ',
    'handover ',
    '0',
    '=',
    'AAAA',
    signer.key,
    signer.id,
  ],
  read(input) {
    const text = input.toString();
    parseNote(text);
    const opened = openNote(text, known);
    const signed = [...signedTexts, parseNote(handover)?.text];
    if (opened) assert.ok(signed.includes(opened.text), 'no key has signed that');
    const checkpoint = parseCheckpoint(text);
    if (checkpoint) assertSameCheckpoint(checkpoint, parseCheckpoint(checkpointText(checkpoint.origin, checkpoint)));
    const found = readHandover(text);
    if (found) assert.deepEqual([found.size, found.from.key, found.to.key], [head.size, signer.key, next.key]);
    for (const parse of [parseVerifierKey, parseWitnessKey]) {
      const key = orRefused(() => parse(text), isOf(RangeError));
      if (key) assert.equal(key.key, text);
    }
  },
};

function assertSameCheckpoint(one: Checkpoint, other: Checkpoint | null): void {
  assert.deepEqual(other, one);
}

/** A part of the log as a file: what can be read can be written, and is the same again. */
const segments: Target = {
  seeds: [
    [Buffer.from('{"data":{}}'), null, Buffer.from('{"é":1}')],
    Array<Buffer>(90).fill(Buffer.alloc(1000, 'x')),
  ].map((bodies) => {
    const building = buildSegment(7);
    for (const body of bodies) building.add(body);
    return building.finish().bytes;
  }),
  words: ['AnnsSeg\x01', '\x28\xb5\x2f\xfd', '\x01\0\0\0', '\0\0\0\0'],
  read(input) {
    const index = orRefused(() => readIndex(input), isOf(SegmentFormatError));
    const again = buildSegment(index?.first ?? 1);
    for (const frame of index?.frames ?? []) {
      const compressed = input.subarray(frame.offset, frame.offset + frame.length);
      const bodies = orRefused(() => bodiesIn(frame, compressed), isOf(SegmentFormatError));
      if (!bodies) return;
      for (const body of bodies) again.add(body);
    }
    if (index && index.frames.length > 0) assert.equal(again.finish().last, index.last);
  },
};

/** Opens the backups here that are encrypted, and nothing else. */
const identity = 'AGE-SECRET-KEY-12UE6Q5X9AVT7MN2U7GMR6U2VZZRP87A6S9CZV8NACA4DPX5GLZTQNMQ8RT';
const recipient = 'age1nfvrzu8kquepscf5g4myqz9q6dg2t53mkqe874rfjevwzcsmyf5qzqukcw';
const manifest: BackupManifest = {
  ...{ format: 1, log: 'annals/kept', after: 0, beginsWith: null, size: 1, root: 'x', recordedAt: head.time },
  ...{ takenAt: head.time, version: '0.1.0', missing: [], segments: null, replica: null },
};
const stored = 'a stored file';
const entries: readonly ArchiveEntry[] = [
  textEntry(names.manifest, JSON.stringify(manifest)),
  textEntry(names.vault, 'a vault'),
  textEntry(names.log, 'a log'.repeat(300)),
  textEntry(blobEntry(hash('sha256', stored)), stored),
];
const archive = () => archiveOf(entries, { mtime: new Date(head.time) });

/** A backup, encrypted or not: what is read to its end is as its digests say, or an error names it. */
const backups: Target = {
  seeds: await Promise.all([archive(), encrypted(archive(), [recipient])].map(async (made) => buffer(await made))),
  words: [
    'ustar\0',
    '0000600\0',
    '00000000012\0',
    names.manifest,
    names.sums,
    names.log,
    'blobs/',
    '../',
    '-> X25519 ',
    '--- ',
    '\n',
  ],
  async read(input) {
    const source = {
      name: 'it',
      open: async () => Readable.from([input], { objectMode: false }),
      segments: openFolderFiles('/nowhere'),
    };
    const digests: string[] = [];
    let sums = '';
    const read = await orRefusedLater(
      () =>
        readBackup({ source, identities: [identity] }, async (_, name, content) => {
          const bytes = await buffer(content);
          digests.push(`${hash('sha256', bytes)}  ${name}\n`);
          return undefined;
        }),
      isOf(StartError),
    );
    if (!read) return;
    sums = digests.join('');
    assert.ok(digests.length <= entries.length * 20 && sums.length < 1e6);
  },
};

/** The key that signed the inputs in the corpus. */
const packKey = 'annals/019a0000-0000-7000-8000-000000000001+8f9cc234+Aci62J8A6D1vetKNCtXGfeGe30rQ0qXeZ2QaJWmRg2cR';
const folder = mkdtempSync(join(tmpdir(), 'annals-test-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** A pack of evidence, as auditors get it from anybody: the verifier ends with a verdict. */
const packs: Target = {
  words: [
    'PK\x03\x04',
    'PK\x01\x02',
    'PK\x05\x06',
    'bundle.json',
    'checkpoint.txt',
    'files/',
    '{',
    '}',
    '[',
    '"',
    ':',
    'null',
    '1e999',
  ],
  async read(input) {
    const file = join(folder, 'pack.zip');
    writeFileSync(file, input);
    const { exit, text } = await run(['--key', packKey, file]);
    const verdict = text.trimEnd().split('\n').at(-1) ?? '';
    assert.match(`${exit} ${verdict}`, /^(0 SOUND|1 NOT SOUND|2 UNDECIDED)/);
    assert.doesNotMatch(text, /\n +at /, 'a stack');
  },
};

/** Parsers of answers of other services, of files, and of evidence. */
export const outside: Record<string, Target> = {
  'time-stamps': timeStamps,
  notes,
  segments,
  backups,
  packs,
};

function isOf(type: new (...args: never[]) => Error): (error: unknown) => boolean {
  return (error) => error instanceof type;
}

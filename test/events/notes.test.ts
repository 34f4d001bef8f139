import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  checkpointText,
  openNote,
  parseCheckpoint,
  parseNote,
  parseVerifierKey,
  signerOf,
} from '../../events/proof/notes.ts';
import { proofText } from '../../events/proof/proofs.ts';

/** The key and the note of the documentation and tests of golang.org/x/mod/sumdb/note. */
const peter = {
  verifierKey: 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW',
  signerKey: 'PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz',
  text: "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n",
  signature: 'x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=',
};
const peterNote = `${peter.text}\n\u2014 PeterNeumann ${peter.signature}\n`;
const peterSeed = Buffer.from(peter.signerKey.split('+').slice(4).join('+'), 'base64').subarray(1);

/** Another key and note of the wild, and keys of other implementations' tests. */
const example = {
  verifierKey: 'example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k',
  note:
    'This is an example message.\n\n\u2014 example.com/foo ' +
    'Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n',
};
const otherKeys = [
  'EnochRoot+af0cfe78+ATtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop',
  'TEST+7997405c+AQcC+FTVKf0jlTdHDY3rbevmnKxxPjigCXlVtGe6RIr6',
];

const signer = signerOf('annals/test', Buffer.alloc(32, 7));
const other = signerOf('annals/test', Buffer.alloc(32, 8));

describe('signed notes (C2SP signed-note)', () => {
  it('are signed as the published ones are, byte for byte', () => {
    const { sign, key, id } = signerOf('PeterNeumann', peterSeed);
    assert.equal(key, peter.verifierKey);
    assert.equal(id, 'c74f20a3');
    assert.equal(sign(peter.text), peterNote);
  });

  it('are believed with the published keys', () => {
    assert.equal(openNote(peterNote, [parseVerifierKey(peter.verifierKey)])?.text, peter.text);
    const found = openNote(example.note, [parseVerifierKey(example.verifierKey)]);
    assert.deepEqual([found?.text, found?.verifier.name], ['This is an example message.\n', 'example.com/foo']);
    for (const key of otherKeys) assert.equal(parseVerifierKey(key).key, key);
  });

  it('are not believed once a character of them is another', () => {
    const keys = [parseVerifierKey(peter.verifierKey)];
    for (let at = 0; at < peterNote.length; at += 1) {
      for (const character of ['x', 'y']) {
        const altered = `${peterNote.slice(0, at)}${character}${peterNote.slice(at + 1)}`;
        if (altered !== peterNote) assert.equal(openNote(altered, keys), null, altered);
      }
      assert.equal(openNote(peterNote.slice(0, at), keys), null);
    }
  });

  it('pass over signatures of unknown keys, also with a shared name or id, and reject a wrong known one', () => {
    const text = 'a text\n';
    const line = (note: string) => note.slice(note.lastIndexOf('\u2014'));
    const both = `${text}\n${line(other.sign(text))}${line(signer.sign(text))}`;
    assert.equal(openNote(both, [signer])?.verifier.id, signer.id);
    assert.equal(openNote(both, [parseVerifierKey(peter.verifierKey)]), null);
    const sameId = line(other.sign(text)).replace('annals/test', 'annals/other');
    assert.equal(openNote(`${text}\n${sameId}`, [other]), null);
    assert.equal(openNote(`${text}\n${sameId}${line(signer.sign(text))}`, [signer, other])?.text, text);
    const wrong = `${text}\n${line(signer.sign('another text\n'))}${line(other.sign(text))}`;
    assert.equal(openNote(wrong, [signer, other]), null);
    assert.equal(openNote(wrong, [other])?.text, text);
  });

  it('say what they were signed for, empty lines too', () => {
    const lines = fc.array(fc.string({ unit: fc.constantFrom('a', 'B', ' ', '\n', '\u2014', 'ü', '😀', '+', '=') }));
    fc.assert(
      fc.property(lines, (parts) => {
        const text = `${parts.join('\n')}\n`;
        assert.equal(openNote(signer.sign(text), [other, signer])?.text, text);
      }),
      { numRuns: 50 },
    );
  });

  it('are none in another form', () => {
    const good = signer.sign('text\n');
    const [, line = ''] = good.split('\n\n');
    for (const note of [
      '',
      '\n',
      'text\n',
      'text\n\n',
      `text\n${line}`,
      `text\n\n${line.trimEnd()}`,
      `text\n\n${line}\n`,
      `text\n\n${line.replace('\u2014', '--')}`,
      `text\n\n${line.replace('\u2014 ', '\u2014')}`,
      `text\n\n${line.replace('annals/test', '')}`,
      `text\n\n${line.replace('annals/test', 'annals+test')}`,
      `text\n\n${line.replace('annals/test', 'annals test')}`,
      `text\n\n${line.trimEnd()} more\n`,
      `text\n\n${line.replace(/=*\n$/, '\n')}`,
      `te\txt\n\n${line}`,
      `te\u0000xt\n\n${line}`,
      `text\r\n\r\n${line}`,
      `${'x'.repeat(1_000_001)}\n\n${line}`,
    ]) {
      assert.equal(parseNote(note), null, JSON.stringify(note.slice(0, 200)));
    }
    assert.ok(parseNote(good));
    for (const text of ['', 'no end', 'a\tb\n', 'a\u0007\n']) assert.throws(() => signer.sign(text), RangeError);
  });

  it('take no key that is not one', () => {
    const bad = [
      '',
      peter.verifierKey.slice(0, -1),
      peter.verifierKey.replace('c74f20a3', 'c74f20a4'),
      peter.verifierKey.replace('PeterNeumann', 'PeterNeuman'),
      peter.verifierKey.replace('+AR', '+AB'),
      `${peter.verifierKey}\n`,
      'PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz',
    ];
    for (const key of bad) assert.throws(() => parseVerifierKey(key), RangeError, key);
    for (const name of ['', 'a b', 'a+b', 'a\u00a0b'])
      assert.throws(() => signerOf(name, Buffer.alloc(32)), RangeError);
    assert.throws(() => signerOf('a', Buffer.alloc(31)), RangeError);
  });
});

describe('checkpoints (C2SP tlog-checkpoint)', () => {
  it('are read as the published one says', () => {
    const text = 'example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n';
    const found = parseCheckpoint(text);
    assert.deepEqual([found?.origin, found?.size], ['example.com/behind-the-sofa', 20_852_163]);
    assert.equal(found && checkpointText(found.origin, found), text);
    assert.equal(parseCheckpoint(`${text}an extension\n`)?.size, 20_852_163);
  });

  it('say when they were signed in a line of their own, which those of before have not', () => {
    const text = `log\n1\n${Buffer.alloc(32, 9).toString('base64')}\n`;
    const time = '2026-11-20T13:00:00.000Z';
    const found = parseCheckpoint(`${text}time ${time}\n`);
    assert.equal(found?.time, time);
    assert.equal(checkpointText('log', found), `${text}time ${time}\n`);
    assert.equal(parseCheckpoint(`${text}an extension\ntime ${time}\nanother\n`)?.time, time);
    for (const lines of ['', 'time x\n', 'time 2026-02-30T13:00:00.000Z\n', `time ${time}\ntime ${time}\n`])
      assert.equal(parseCheckpoint(text + lines)?.time, null, lines);
  });

  it('are none in another form', () => {
    const root = Buffer.alloc(32, 9).toString('base64');
    assert.ok(parseCheckpoint(`log\n1\n${root}\n`));
    for (const text of [
      '',
      `log\n1\n${root}`,
      `\n1\n${root}\n`,
      `log\n01\n${root}\n`,
      `log\n-1\n${root}\n`,
      `log\n1.5\n${root}\n`,
      `log\n9007199254740993\n${root}\n`,
      `log\n1\n${root.slice(4)}\n`,
      `log\n1\n${root.replace('=', '')}\n`,
      `log\n1\n${root}\n\n`,
    ]) {
      assert.equal(parseCheckpoint(text), null, JSON.stringify(text));
    }
  });
});

describe('a proof to be checked offline (C2SP tlog-proof)', () => {
  it('has the lines of the specification', () => {
    const checkpoint = signer.sign(checkpointText('annals/test', { size: 3, root: Buffer.alloc(32, 1) }));
    const [a, b] = [Buffer.alloc(32, 2), Buffer.alloc(32, 3)];
    const lines = proofText({ index: 2, proof: [a, b], checkpoint }).split('\n');
    assert.deepEqual(lines.slice(0, 6), [
      'c2sp.org/tlog-proof@v1',
      'index 2',
      a.toString('base64'),
      b.toString('base64'),
      '',
      'annals/test',
    ]);
    assert.equal(proofText({ index: 0, proof: [], checkpoint }), `c2sp.org/tlog-proof@v1\nindex 0\n\n${checkpoint}`);
  });
});

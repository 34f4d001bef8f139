import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { commitmentOf } from '../../events/facts/envelope.ts';
import { run } from '../../verify/annals-verify.mjs';
import { useFolder } from '../helpers/shared.ts';
import {
  answerOf,
  type BundleOptions,
  bodyOf,
  bundleOf,
  consistencyOf,
  createHistory,
  createSigner,
  type Entry,
  encoded,
  leafOf,
  noteOf,
  origin,
  rewritten,
  type Signer,
  shown,
  signNote,
  type Thing,
  writeNote,
  zipOf,
} from './forger.ts';
import {
  account,
  bundleIn,
  erased,
  fileBytes,
  lively,
  medium,
  mediumNow,
  person,
  post,
  postNow,
  verdictOf,
} from './histories.ts';

const folder = useFolder();
const signer = createSigner();
const stranger = createSigner();
const log = erased(lively());
const kept = writeNote(join(folder, 'kept.txt'), noteOf(log, [signer], 6));
const pinned = ['--key', signer.verifierKey, '--checkpoint', kept];
const options = { earlier: [6, 4] };
let count = 0;

function folderOf(bundle: Thing, files: Record<string, Buffer> = {}): string {
  count += 1;
  return bundleIn(folder, `bundle-${count}`, bundle, files);
}

function honest(entries = log, by: Signer = signer, more: BundleOptions = {}): Thing {
  return bundleOf(entries, by, post, postNow, { ...options, ...more });
}

const fileOf = { sha256: mediumNow.sha256, bytes: fileBytes.length, version: 1, included: true };

function mediumBundle(files: Thing[] = [fileOf]): Thing {
  return bundleOf(log, signer, medium, mediumNow, { ...options, files });
}

/** A bundle of the erased person: nothing of them is left but headers. */
function personBundle(): Thing {
  return bundleOf(log, signer, person, null, { ...options, also: [account] });
}

describe('annals-verify on bundles', () => {
  it('finds an honest one sound, and says what it does not prove', async () => {
    const { exit, text } = await run([...pinned, folderOf(honest())]);
    assert.equal(exit, 0, text);
    assert.match(text, /^bundle of posts\/019a/);
    assert.match(text, /signed by the pinned key/);
    assert.match(text, /versions 1 to 5 without gaps/);
    assert.match(text, /it continues the kept checkpoint kept\.txt, of 6 events/);
    assert.match(text, /the document is what its events make/);
    assert.match(text, /open +whether there are later versions than 5 of posts\/\S+, 2 of system\/schema/);
    assert.match(text, /^SOUND \(7 events/m);
  });

  it('proves that no later version was left out if all later headers are there', async () => {
    const { exit, text } = await run([...pinned, folderOf(honest(log, signer, { isComplete: true }))]);
    assert.equal(exit, 0, text);
    assert.match(text, /proven +up to event 16 there is no later version/);
    assert.doesNotMatch(text, /later versions than/);
  });

  it('takes erased payloads for gone if an event declares it, also in another stream', async () => {
    assert.match(await verdictOf(...pinned, folderOf(personBundle())), /^0 SOUND \(5 events/);
    const other = bundleOf(log, signer, account, undefined, options);
    assert.equal(other.erasures.length, 1);
    const { exit, text } = await run([...pinned, folderOf(other)]);
    assert.equal(exit, 0, text);
    assert.match(text, /1 payload is gone, as events of the log declare/);
  });

  it('compares files with the events, byte for byte', async () => {
    const { exit, text } = await run([...pinned, folderOf(mediumBundle(), { [`files/${fileOf.sha256}`]: fileBytes })]);
    assert.equal(exit, 0, text);
    assert.match(text, /1 file is, byte for byte, the one that the events name/);
    const without = mediumBundle([{ ...fileOf, included: false }]);
    assert.match((await run([...pinned, folderOf(without)])).text, /1 file that the events name is not in the bundle/);
  });

  it('tells a file that is lost, as an event says, from one that is left out', async () => {
    const { entries, record } = createHistory(undefined, [...log]);
    const about = { stream: medium, version: 1 };
    const lost = record('system/files', 'file.lost', about, {}, { reason: 'the disk failed' });
    const other = record('system/files', 'file.lost', { ...about, version: 2 }, {}, { reason: 'another' });
    const back = record('system/files', 'file.found', about, {}, { reason: 'from the backup' });
    const textWith = async (losses: Entry[]): Promise<string> => {
      const gone = { ...fileOf, included: false, missing: true };
      const bundle = bundleOf(entries, signer, medium, mediumNow, { earlier: [6], files: [gone] });
      const { exit, text } = await run([
        ...pinned,
        folderOf({ ...bundle, losses: losses.map((entry) => shown(entry, entries)) }),
      ]);
      return `${exit} ${text}`;
    };
    const file = `open +what is in the file ${fileOf.sha256} of version 1`;
    const isLost = new RegExp(`^0 .*${file}: lost, as event 17 of 2026-\\S+ says: the disk failed$.*^SOUND`, 'ms');
    assert.match(await textWith([lost, other]), isLost);
    const isHidden = new RegExp(`${file}: left out, and nothing says that it was lost$`, 'm');
    assert.match(await textWith([]), isHidden);
    assert.match(await textWith([other]), isHidden);
    assert.match(
      await textWith([lost, back]),
      new RegExp(`${file}: left out, and event 19 of \\S+ says that it was found again$`, 'm'),
    );
    assert.match(
      await textWith([log[3] as Entry]),
      /^1 .*NOT SOUND: event 4 .* does not say .* what became of a file/ms,
    );
  });

  it('says what is not proven if payloads were withheld', async () => {
    const bundle = honest();
    delete bundle.document;
    bundle.events = bundle.events.map(({ header, proof }: Thing) => ({ header, payload: null, withheld: true, proof }));
    const { exit, text } = await run([...pinned, folderOf(bundle)]);
    assert.equal(exit, 0, text);
    assert.match(text, /open +5 payloads were withheld/);
    assert.match(text, /open +what the document says/);
  });

  it('proves no origin without a key from elsewhere, and is not content with that', async () => {
    const path = folderOf(honest());
    assert.match(await verdictOf(path), /^2 UNDECIDED: it is sound in itself, but no key was pinned/);
    assert.match(await verdictOf('--trust-inside', path), /^0 SOUND/);
    assert.match((await run(['--trust-inside', path])).text, /open +the origin: no key was pinned/);
    // Made by somebody else, all of it, it is just as sound in itself.
    assert.match(await verdictOf('--trust-inside', folderOf(honest(log, stranger))), /^0 SOUND/);
  });

  it('knows globals, and documents that are gone', async () => {
    const global = bundleOf(log, signer, 'globals/site', { name: 'Annals', lines: 2 }, options);
    assert.match(await verdictOf(...pinned, folderOf(global)), /^0 SOUND/);
    const gone = bundleOf(log, signer, 'posts/2', null, options);
    assert.match((await run([...pinned, folderOf(gone)])).text, /the document is gone, as its events say/);
  });

  it('answers as JSON', async () => {
    const { text } = await run([...pinned, '--json', folderOf(honest())]);
    const { result, exit, origin: named, checkpoint, events } = JSON.parse(text);
    assert.deepEqual([result, exit, named, checkpoint.size, events], ['sound', 0, origin, 16, 7]);
  });

  it('reads the ZIP as it reads the folder', async () => {
    const path = join(folder, 'bundle.zip');
    const content = {
      'bundle.json': JSON.stringify(mediumBundle()),
      [`files/${fileOf.sha256}`]: fileBytes,
      'README.txt': 'Hi',
    };
    writeFileSync(path, await zipOf(content));
    assert.match(await verdictOf(...pinned, path), /^0 SOUND/);
    writeFileSync(path, await zipOf({ ...content, [`files/${fileOf.sha256}`]: 'the bytes of a_file' }));
    assert.match(await verdictOf(...pinned, path), /^1 NOT SOUND: the file [0-9a-f]+ of event 10 .* was altered/);
    writeFileSync(
      path,
      await zipOf([
        ['bundle.json', JSON.stringify(honest())],
        ['bundle.json', JSON.stringify(mediumBundle())],
      ]),
    );
    assert.match(await verdictOf(...pinned, path), /^1 NOT SOUND: the archive has two entries bundle\.json/);
  });
});

/** The log with the second version of the post written anew; what follows from it, too. */
function rewrite(): Entry[] {
  return log.map((entry, at) => (at === 3 ? rewritten(entry, {}, { set: { title: 'Never said' } }) : entry));
}

/** The log up to 6, with other entries after that. */
function forked(): Entry[] {
  return log.map((entry, index) => (index < 6 ? entry : rewritten(entry, { correlationId: 'forked' })));
}

function withProofs(bundle: Thing, entries: readonly Entry[]): Thing {
  const hashes = entries.map(leafOf);
  return { ...bundle, earlier: [{ size: 6, proof: encoded(consistencyOf(6, hashes)) }] };
}

/** The answers of a lying server, and the findings about them. */
const lies: Record<string, { bundle: () => Thing; says: RegExp; files?: Record<string, Buffer>; args?: string[] }> = {
  'a document rewritten, with a tree and a valid signature of its own': {
    bundle: () => honest(rewrite()),
    says: /^2 UNDECIDED: the proof does not lead from the kept checkpoint kept\.txt to what is shown/,
  },
  'a fork after the kept checkpoint, at its size': {
    bundle: () => honest(forked()),
    args: ['--key', signer.verifierKey, '--checkpoint', writeNote(join(folder, 'all.txt'), noteOf(log, [signer]))],
    says: /^1 NOT SOUND: this is another log than that of the kept checkpoint all\.txt: at 16 events .*fork/,
  },
  'a fork that comes with a proof of the other log': {
    bundle: () => withProofs(honest(rewrite()), log),
    says: /^2 UNDECIDED: the proof does not lead from the kept checkpoint/,
  },
  'a fork that shows no proof': {
    bundle: () => ({ ...honest(rewrite()), earlier: [] }),
    says: /^2 UNDECIDED: nothing proves that the log continues .* since=6, or give the answer of GET .*from=6&to=16 as --proof$/,
  },
  'an old checkpoint, replayed under the document of today': {
    bundle: () => honest(log, signer, { size: 4, earlier: [] }),
    says: /^1 NOT SOUND: the document is not what its events make/,
  },
  'a swapped payload': {
    bundle: () => {
      const bundle = honest();
      [bundle.events[1].payload, bundle.events[2].payload] = [bundle.events[2].payload, bundle.events[1].payload];
      return bundle;
    },
    says: /^1 NOT SOUND: event 4 .*its payload is not the one that its header commits to/,
  },
  'an altered payload whose commitment follows': {
    bundle: () => {
      const bundle = honest();
      const entry = rewritten(log[3] as Entry, {}, { set: { title: 'Never said' } });
      Object.assign(bundle.events[1], { header: entry.text, payload: entry.body });
      return bundle;
    },
    says: /^1 NOT SOUND: event 4 .*its proof does not show that it is in the log/,
  },
  'a tail cut off, seen in a complete bundle': {
    bundle: () => {
      const bundle = honest(log, signer, { isComplete: true });
      bundle.events.pop();
      bundle.versions[post] = 4;
      bundle.rest.after = 12;
      const cut = bundleOf(log, signer, post, null, { ...options, isComplete: true, size: 12 });
      return {
        ...bundle,
        document: null,
        rest: { ...bundle.rest, before: cut.rest.before, headers: log.slice(12).map(({ text }) => text) },
      };
    },
    says: /^1 NOT SOUND: event 13 .*was left out of the events/,
  },
  'a rest without the event that was left out': {
    bundle: () => {
      const bundle = honest(log, signer, { isComplete: true });
      bundle.rest.headers.splice(1, 1);
      return bundle;
    },
    says: /^1 NOT SOUND: event 15 is missing/,
  },
  'a rest that ends early': {
    bundle: () => {
      const bundle = honest(log, signer, { isComplete: true });
      bundle.rest.headers.pop();
      return bundle;
    },
    says: /^1 NOT SOUND: rest ends at event 15, the checkpoint is of 16/,
  },
  'a rest with an altered header': {
    bundle: () => {
      const bundle = honest(log, signer, { isComplete: true });
      bundle.rest.headers[0] = rewritten(log[13] as Entry, { correlationId: 'x' }).text;
      return bundle;
    },
    says: /^1 NOT SOUND: the headers in rest are not those of the log/,
  },
  'a rest with too few subtrees': {
    bundle: () => {
      const bundle = honest(log, signer, { isComplete: true });
      bundle.rest.before.pop();
      return bundle;
    },
    says: /^1 NOT SOUND: a tree of 13 events is made of 3 subtrees, not of 2/,
  },
  'a rest that begins too late': {
    bundle: () => {
      const bundle = honest(log, signer, { isComplete: true });
      bundle.rest.after = 14;
      return bundle;
    },
    says: /^1 NOT SOUND: rest begins after event 14/,
  },
  'a wrong position': {
    bundle: () => {
      const bundle = honest();
      bundle.events[1].header = rewritten(log[3] as Entry, { position: 5 }).text;
      return bundle;
    },
    says: /^1 NOT SOUND: event 5 .*its proof does not show/,
  },
  'the proof of another event': {
    bundle: () => {
      const bundle = honest();
      bundle.events[1].proof = bundle.events[2].proof;
      return bundle;
    },
    says: /^1 NOT SOUND: event 4 .*its proof does not show/,
  },
  'a proof with a hash too many': {
    bundle: () => {
      const bundle = honest();
      bundle.events[1].proof.push(bundle.events[1].proof[0]);
      return bundle;
    },
    says: /^1 NOT SOUND: event 4 .*its proof does not show/,
  },
  'a proof without its last hash': {
    bundle: () => {
      const bundle = honest();
      bundle.events[1].proof.pop();
      return bundle;
    },
    says: /^1 NOT SOUND: event 4 .*its proof does not show/,
  },
  'an event of after the checkpoint': {
    bundle: () => {
      const bundle = honest(log, signer, { size: 12 });
      return { ...bundle, events: [...bundle.events, shown(log[12] as Entry, log)] };
    },
    says: /^1 NOT SOUND: event 13 .*the checkpoint is of 12 events/,
  },
  'a larger size, its signature kept': {
    bundle: () => ({ ...honest(), checkpoint: noteOf(log, [signer]).replace('\n16\n', '\n17\n') }),
    says: /^1 NOT SOUND: the checkpoint of the bundle is not what the key .* signed/,
  },
  'a larger size, signed': {
    bundle: () => {
      const root = noteOf(log, []).split('\n')[2];
      return { ...honest(), checkpoint: signNote(`${origin}\n17\n${root}\n`, [signer]) };
    },
    says: /^1 NOT SOUND: event 2 .*its proof does not show/,
  },
  'a version in the middle dropped': {
    bundle: () => {
      const bundle = honest();
      bundle.events.splice(1, 1);
      return bundle;
    },
    says: /^1 NOT SOUND: event 8 .*version 2 of posts\/\S+ is missing before it/,
  },
  'the first version dropped': {
    bundle: () => {
      const bundle = honest();
      bundle.events.shift();
      return bundle;
    },
    says: /^1 NOT SOUND: event 4 .*version 1 of posts\/\S+ is missing before it/,
  },
  'reordered events': {
    bundle: () => {
      const bundle = honest();
      [bundle.events[1], bundle.events[2]] = [bundle.events[2], bundle.events[1]];
      return bundle;
    },
    says: /^1 NOT SOUND: event 4 .*is out of order: it comes after event 8/,
  },
  'an event twice': {
    bundle: () => {
      const bundle = honest();
      bundle.schemas.push(bundle.schemas[1]);
      return bundle;
    },
    says: /^1 NOT SOUND: event 7 .*out of order/,
  },
  'a number of versions that is not shown': {
    bundle: () => ({ ...honest(), versions: { [post]: 6 } }),
    says: /^1 NOT SOUND: posts\/\S+ is said to have 6 versions, 5 are shown/,
  },
  'versions of another stream': {
    bundle: () => ({ ...honest(), versions: { [person]: 5 } }),
    says: /^1 NOT SOUND: versions names other streams/,
  },
  'a payload erased without a declaration': {
    bundle: () => {
      const bundle = honest();
      Object.assign(bundle.events[1], { payload: null, erased: true });
      return bundle;
    },
    says: /^1 NOT SOUND: event 4 .*its payload is missing, and no document\.erased declares it/,
  },
  'an erasure that is not shown': {
    bundle: () => ({ ...bundleOf(log, signer, account, undefined, options), erasures: [] }),
    says: /^1 NOT SOUND: event 5 .*no document\.erased declares it/,
  },
  'an erasure of fewer versions than are gone': {
    bundle: () => {
      const data = { streams: [{ stream: account, versions: 0 }] };
      const entries = log.map((entry, at) => (at === 13 ? rewritten(entry, {}, data) : entry));
      return bundleOf(entries, signer, account, undefined, options);
    },
    says: /^1 NOT SOUND: event 5 .*no document\.erased declares it/,
  },
  'something else in place of an erasure': {
    bundle: () => ({ ...bundleOf(log, signer, account, undefined, options), erasures: [shown(log[5] as Entry, log)] }),
    says: /^1 NOT SOUND: event 6 .*is no erasure with its payload/,
  },
  'a payload that is withheld, and a document all the same': {
    bundle: () => {
      const bundle = honest();
      Object.assign(bundle.events[4], { payload: null, withheld: true });
      return bundle;
    },
    says: /^1 NOT SOUND: a document is shown, and the payloads that would prove it are withheld/,
  },
  'a payload that is there and said to be gone': {
    bundle: () => {
      const bundle = honest();
      bundle.events[1].erased = true;
      return bundle;
    },
    says: /^1 NOT SOUND: event 4 .*said to be erased, and its payload is there/,
  },
  'an event of a foreign log, in its own tree': {
    bundle: () => {
      const foreign = lively();
      const entries = log.map((entry, at) =>
        at === 7 ? rewritten(foreign[7] as Entry, { log: `${origin.slice(0, -1)}2` }) : entry,
      );
      return honest(entries);
    },
    says: /^1 NOT SOUND: event 8 belongs to another log/,
  },
  'a time that goes back': {
    bundle: () =>
      honest(log.map((entry, at) => (at === 7 ? rewritten(entry, { recordedAt: '2026-11-20T12:00:03.000Z' }) : entry))),
    says: /^1 NOT SOUND: event 8 .*was recorded at 2026-11-20T12:00:03\.000Z, before/,
  },
  'a day that there is not': {
    bundle: () =>
      honest(log.map((entry, at) => (at === 7 ? rewritten(entry, { recordedAt: '2026-02-30T12:00:03.000Z' }) : entry))),
    says: /^1 NOT SOUND: event 8: its recordedAt/,
  },
  'a signature of another key': {
    bundle: () => ({ ...honest(), checkpoint: noteOf(log, [stranger]) }),
    says: /^2 UNDECIDED: the checkpoint of the bundle is signed by another key/,
  },
  'another key, named and used': {
    bundle: () => honest(log, stranger),
    says: /^2 UNDECIDED: the bundle names another key than the pinned one/,
  },
  'another key under the name and the number of ours': {
    bundle: () => {
      const id = signer.verifierKey.split('+')[1];
      const alike = { ...stranger, verifierKey: `${origin}+${id}+` };
      return { ...honest(), checkpoint: noteOf(log, [alike]) };
    },
    says: /^1 NOT SOUND: the checkpoint of the bundle is not what the key .* signed: its signature does not fit/,
  },
  'a signature that stands twice': {
    bundle: () => ({ ...honest(), checkpoint: noteOf(log, [signer, signer]) }),
    says: /^1 NOT SOUND: the checkpoint of the bundle is signed twice by one key/,
  },
  'no signature at all': {
    bundle: () => ({ ...honest(), checkpoint: noteOf(log, []) }),
    says: /^1 NOT SOUND: the checkpoint of the bundle has a line among its signatures that is not a signature/,
  },
  'a checkpoint of another origin under our key': {
    bundle: () => ({ ...honest(), checkpoint: noteOf(log, [signer], 16, 'annals/other') }),
    says: /^1 NOT SOUND: the checkpoint of the bundle is of the log annals\/other/,
  },
  'another origin than that of the checkpoint': {
    bundle: () => ({ ...honest(), origin: 'annals/other' }),
    says: /^1 NOT SOUND: the bundle names the log annals\/other/,
  },
  'an altered document': {
    bundle: () => ({ ...honest(), document: { ...postNow, title: 'Never said', more: 1 } }),
    says: /^1 NOT SOUND: the document is not what its events make: they differ in title, more/,
  },
  'no document where there is one': {
    bundle: () => ({ ...honest(), document: null }),
    says: /^1 NOT SOUND: the document is not what its events make: they make one, none is shown/,
  },
  'a document left out': {
    bundle: () => bundleOf(log, signer, post, undefined, options),
    says: /^1 NOT SOUND: the events prove what the document says, and the bundle does not show it/,
  },
  'a document of an account': {
    bundle: () => bundleOf(log, signer, account, {}, options),
    says: /^1 NOT SOUND: accounts\/\S+ is no document, and one is shown/,
  },
  'altered schemas': {
    bundle: () => {
      const bundle = honest();
      bundle.schemas[0].payload = bodyOf({ schema: { collections: [], globals: [] } });
      return bundle;
    },
    says: /^1 NOT SOUND: event 1 .*its payload is not the one/,
  },
  'a schema left out': {
    bundle: () => {
      const bundle = honest();
      bundle.schemas.shift();
      return bundle;
    },
    says: /^1 NOT SOUND: the schema with which every log begins, event 1, is not shown/,
  },
  'the newest schema left out, seen in a complete bundle': {
    bundle: () => {
      const bundle = bundleOf(log, signer, account, undefined, { ...options, isComplete: true });
      bundle.schemas.pop();
      return bundle;
    },
    says: /^1 NOT SOUND: event 7 \(system\/schema, .*was left out of the events/,
  },
  'a schema withheld': {
    bundle: () => {
      const bundle = honest();
      Object.assign(bundle.schemas[0], { payload: null, withheld: true });
      return bundle;
    },
    says: /^1 NOT SOUND: event 1 .*is no schema with its payload/,
  },
  'an event of a stream that it is not about': {
    bundle: () => {
      const bundle = honest();
      bundle.events.splice(1, 0, shown(log[2] as Entry, log));
      return bundle;
    },
    says: /^1 NOT SOUND: event 3 .*is of no stream that the bundle is about/,
  },
  'a header that is not canonical': {
    bundle: () => {
      const bundle = honest();
      bundle.events[0].header = JSON.stringify(JSON.parse(bundle.events[0].header), null, 1);
      return bundle;
    },
    says: /^1 NOT SOUND: events\[0\]: its header is not canonical JSON/,
  },
  'a header with a name twice': {
    bundle: () => {
      const bundle = honest();
      bundle.events[0].header = bundle.events[0].header.replace('"v":1', '"v":1,"v":1');
      return bundle;
    },
    says: /^1 NOT SOUND: events\[0\]: its header is not canonical JSON/,
  },
  'a header with one member more, in the log': {
    bundle: () => {
      const more = { ...(log[3] as Entry).header, zzz: 1 };
      const text = `${(log[3] as Entry).text.slice(0, -1)},"zzz":1}`;
      return honest(log.map((entry, at) => (at === 3 ? { ...entry, header: more, text } : entry)));
    },
    says: /^1 NOT SOUND: events\[1\]: its header has other members/,
  },
  'a payload with a name twice, in the log': {
    bundle: () => {
      const body = (log[3] as Entry).body?.replace('"set":{', '"set":{"title":"For others",') as string;
      const text = (log[3] as Entry).text.replace(/sha256:[0-9a-f]+/, commitmentOf(body));
      return honest(log.map((entry, at) => (at === 3 ? { ...entry, body, text } : entry)));
    },
    says: /^1 NOT SOUND: event 4 .*its payload is not JSON as it is written: a name may stand in it twice/,
  },
  'files that no event names': {
    bundle: () => ({ ...honest(), files: [fileOf] }),
    says: /^1 NOT SOUND: no event names the file/,
  },
  'a file that is not listed': {
    bundle: honest,
    files: { [`files/${fileOf.sha256}`]: fileBytes },
    says: /^1 NOT SOUND: files\/\w+ is in the bundle, and files does not say so/,
  },
  'a file that is not there': { bundle: mediumBundle, says: /^1 NOT SOUND: event 10 .*and it is not in the bundle/ },
  'a file that an event names and no list has': {
    bundle: () => mediumBundle([]),
    says: /^1 NOT SOUND: event 10 .*names the file \w+, files does not/,
  },
  'an altered file': {
    bundle: mediumBundle,
    files: { [`files/${fileOf.sha256}`]: Buffer.from('the bytes of a fjle') },
    says: /^1 NOT SOUND: the file \w+ of event 10 .*was altered/,
  },
  'a file of another size': {
    bundle: mediumBundle,
    files: { [`files/${fileOf.sha256}`]: Buffer.from('more bytes than there were') },
    says: /^1 NOT SOUND: the file \w+ has 26 bytes, not 19/,
  },
  'a file that came with another version': {
    bundle: () => mediumBundle([{ ...fileOf, version: 2 }]),
    says: /^1 NOT SOUND: the file \w+ came with version 1, not 2/,
  },
  'a checkpoint.txt that is another one': {
    bundle: honest,
    files: { 'checkpoint.txt': Buffer.from(noteOf(log, [signer], 12)) },
    says: /^1 NOT SOUND: checkpoint\.txt is not the checkpoint of the bundle/,
  },
  'an unknown member': {
    bundle: () => ({ ...honest(), verified: true }),
    says: /^2 UNDECIDED: bundle\.json has verified, which this verifier does not know/,
  },
};

describe('annals-verify and a lying server: bundles', () => {
  for (const [lie, { bundle, says, files, args = pinned }] of Object.entries(lies)) {
    it(`rejects ${lie}`, async () => {
      assert.match(await verdictOf(...args, folderOf(bundle(), files)), says);
    });
  }

  it('rejects a bundle.json in which a name stands twice', async () => {
    const path = folderOf(honest());
    const text = JSON.stringify(honest()).replace('"versions"', '"document":{"title":"Never said"},"versions"');
    writeFileSync(join(path, 'bundle.json'), text);
    assert.match(await verdictOf(...pinned, path), /^1 NOT SOUND: bundle\.json is not JSON as it is written/);
  });

  const older = { ...honest(log, signer, { size: 5, earlier: [4] }), document: { ...postNow, title: 'Two', old: 1 } };
  const since = (to: number, proof: Thing = answerOf(log, 5, to)): string => {
    count += 1;
    return writeNote(join(folder, `since-${count}.json`), JSON.stringify(proof));
  };

  it('decides nothing by a genuine pack that is older than what was kept, until a proof leads from it', async () => {
    const path = folderOf(older);
    assert.match(await verdictOf('--key', signer.verifierKey, path), /^0 SOUND/);
    assert.match(
      await verdictOf(...pinned, path),
      /^2 UNDECIDED: the kept checkpoint kept\.txt is of 6 events, what is shown ends at 5: it is older, and only a proof .*: ask for it anew, or give the answer of GET \/api\/audit\/consistency\?from=5&to=6 as --proof$/,
    );
    const { exit, text } = await run([...pinned, '--proof', since(6), path]);
    assert.equal(exit, 0, text);
    assert.match(text, /proven +the kept checkpoint kept\.txt, of 6 events, continues what is shown/);
    assert.match(text, /open +what came after event 5, up to 6 of the kept checkpoint kept\.txt/);
    for (const proof of [answerOf(forked(), 5, 16), { ...answerOf(log, 5, 6), proof: [] }])
      assert.match(
        await verdictOf(...pinned, '--proof', since(6, { ...proof, to: 6 }), path),
        /^2 UNDECIDED: the proof/,
      );
    const other = await run([...pinned, '--proof', since(16), path]);
    assert.equal(other.exit, 2);
    assert.match(other.text, /open +what since-\d+\.json proves: it leads from 5 to 16, and neither is asked for here/);
    assert.match(await verdictOf(...pinned, '--proof', kept, path), /^2 UNDECIDED: kept\.txt is no answer of GET/);
  });

  it('finds what an older pack contradicts before that it is older', async () => {
    const altered = folderOf({ ...older, document: { ...postNow, title: 'Three' } });
    assert.match(await verdictOf(...pinned, altered), /^1 NOT SOUND: the document is not what its events make/);
    const page = folderOf(older, { 'summary.html': Buffer.from('another page') });
    assert.match(await verdictOf(...pinned, page), /^1 NOT SOUND: summary\.html is not/);
  });

  it('finds two kept checkpoints of one size to be of a fork, however old the pack is', async () => {
    const all = writeNote(join(folder, 'all-16.txt'), noteOf(log, [signer]));
    const fork = writeNote(join(folder, 'fork-16.txt'), noteOf(forked(), [signer]));
    const args = ['--key', signer.verifierKey, '--checkpoint', all, '--checkpoint', fork];
    assert.match(
      await verdictOf(...args, folderOf(older)),
      /^1 NOT SOUND: .*all-16\.txt and .*fork-16\.txt are both of 16 events, and their roots differ: proof of a fork/,
    );
  });

  it('takes a proof that is given if the pack has none, or one that was spoilt on its way', async () => {
    const given = writeNote(join(folder, 'given.json'), JSON.stringify(answerOf(log, 6, 16)));
    for (const earlier of [[], [{ size: 6, proof: [] }]]) {
      const path = folderOf({ ...honest(), earlier });
      assert.match(await verdictOf(...pinned, path), /^2 UNDECIDED: .*since=6/);
      assert.match(await verdictOf(...pinned, '--proof', given, path), /^0 SOUND/);
    }
  });

  it('decides nothing by a kept checkpoint that the pinned key did not sign', async () => {
    const other = writeNote(join(folder, 'other.txt'), noteOf(log, [stranger], 6));
    const args = ['--key', signer.verifierKey, '--checkpoint', other];
    assert.match(
      await verdictOf(...args, folderOf(honest())),
      /^2 UNDECIDED: the kept checkpoint other\.txt is signed by another key/,
    );
  });
});

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { commitmentOf } from '../../events/facts/envelope.ts';
import { useFolder } from '../helpers/shared.ts';
import {
  bundleOf,
  createSigner,
  type Entry,
  encoded,
  exportOf,
  noteOf,
  origin,
  rewritten,
  shown,
  signNote,
  type Thing,
  writeNote,
} from './forger.ts';
import { account, bundleIn, erased, exportIn, lively, person, post, postNow, verdictOf } from './histories.ts';

const folder = useFolder();
const signer = createSigner();
const log = erased(lively());
const pinned = ['--key', signer.verifierKey];
let count = 0;

function name(): string {
  count += 1;
  return `thing-${count}`;
}

/** The verdict on a log whose event 8 is another one, in a tree and under a signature that fit. */
async function verdictWith(change: (entry: Entry) => Entry): Promise<string> {
  const entries = log.map((entry, at) => (at === 7 ? change(entry) : entry));
  return verdictOf(...pinned, bundleIn(folder, name(), bundleOf(entries, signer, post, postNow)));
}

/** With another text of its header. */
function worded(change: (text: string) => string): (entry: Entry) => Entry {
  return (entry) => ({ ...entry, text: change(entry.text) });
}

/** With another payload, which the header commits to. */
function saying(body: string): (entry: Entry) => Entry {
  return (entry) => ({ ...rewritten(entry, { payload: commitmentOf(body) }), body });
}

async function verdictOnNote(note: string): Promise<string> {
  return verdictOf(...pinned, bundleIn(folder, name(), { ...bundleOf(log, signer, post, postNow), checkpoint: note }));
}

async function verdictOnBundle(
  change: (bundle: Thing) => void,
  stream = post,
  document: Thing = postNow,
  args = pinned,
): Promise<string> {
  const bundle = bundleOf(log, signer, stream, document, { isComplete: true });
  change(bundle);
  return verdictOf(...args, bundleIn(folder, name(), bundle));
}

async function verdictOnExport(
  change: (manifest: Thing) => void,
  kind = 'ndjson',
  rewrite = (text: string) => text,
): Promise<string> {
  const { manifest, text } = exportOf(log, signer, 1, 16, { kind });
  const changed = rewrite(text);
  manifest.bytes = Buffer.byteLength(changed);
  change(manifest);
  return verdictOf(...pinned, exportIn(folder, name(), { manifest, text: changed }));
}

const batch = '019a0000-0000-7000-8000-00000000000b';
const headers: [string, RegExp, (entry: Entry) => Entry][] = [
  ['version of the header', /its header has version 3/, worded((text) => text.replace('"v":1', '"v":3'))],
  [
    'batch of a header of version 1',
    /its header has other members/,
    worded((text) => text.replace('"correlationId"', `"batch":"${batch}","correlationId"`)),
  ],
  ['batch', /its batch is x, no UUID v7/, (entry) => rewritten(entry, { v: 2, batch: 'x' })],
  ['position', /its position is 0/, worded((text) => text.replace('"position":8', '"position":0'))],
  ['id', /event 8: its id is x, no UUID v7/, (entry) => rewritten(entry, { id: 'x' })],
  ['version', /event 8: its version is 0/, (entry) => rewritten(entry, { version: 0 })],
  ['schemaVersion', /event 8: its schemaVersion is 0/, (entry) => rewritten(entry, { schemaVersion: 0 })],
  ['stream', /event 8: it has no stream/, worded((text) => text.replace(post, 'posts'))],
  ['type', /event 8: it has no type/, (entry) => rewritten(entry, { type: '' as never })],
  ['correlationId', /event 8: it has no correlationId/, (entry) => rewritten(entry, { correlationId: 1 as never })],
  ['commitment', /event 8: it commits to no payload/, (entry) => rewritten(entry, { payload: 'sha256:12' })],
  [
    'type of actor',
    /event 8: its actor is .*robot/,
    (entry) => rewritten(entry, { actor: { type: 'robot' as never } }),
  ],
  [
    'member of actor',
    /event 8: its actor is odd/,
    worded((text) => text.replace('"type":"user"}', '"type":"user","zone":"x"}')),
  ],
  [
    'id of actor',
    /event 8: its actor is odd/,
    (entry) => rewritten(entry, { actor: { type: 'user', id: 1 as never } }),
  ],
  [
    'half of a character',
    /its header is not canonical/,
    worded((text) => text.replace('request-8', 'request-\\ud800')),
  ],
  [
    'number with a fraction',
    /its header is not canonical/,
    worded((text) => text.replace('"version":3', '"version":3.5')),
  ],
  ['length', /its header is too long/, (entry) => rewritten(entry, { correlationId: 'x'.repeat(66_000) })],
  ['syntax', /its header is not JSON/, worded((text) => text.slice(0, -1))],
];

const salt = randomBytes(32).toString('base64');
const payloads: [string, RegExp, string][] = [
  ['member', /its payload has another form/, `{"salt":"${salt}","data":{"set":{}},"context":{},"more":1}`],
  ['order', /its payload has another form/, `{"data":{"set":{}},"salt":"${salt}","context":{}}`],
  ['list as data', /its payload has another form/, `{"salt":"${salt}","data":[],"context":{}}`],
  ['text as context', /its payload has another form/, `{"salt":"${salt}","data":{"set":{}},"context":""}`],
  ['short salt', /its salt is not a hash of 32 bytes/, '{"salt":"AAAA","data":{"set":{}},"context":{}}'],
  ['salt that is no base64', /its salt is not base64/, '{"salt":"*","data":{"set":{}},"context":{}}'],
  ['change without a set', /does not say what it sets/, `{"salt":"${salt}","data":{},"context":{}}`],
  ['white space', /not JSON as it is written/, `{"salt":"${salt}", "data":{"set":{}},"context":{}}`],
  ['syntax', /its payload is not JSON/, '{'],
];

const root = noteOf(log, []).split('\n')[2] ?? '';
const notes: [string, RegExp, () => string][] = [
  ['leading zero', /names no size, but 016/, () => signNote(`${origin}\n016\n${root}\n`, [signer])],
  ['too large a size', /names no size/, () => signNote(`${origin}\n9999999999999999\n${root}\n`, [signer])],
  ['size below zero', /names no size/, () => signNote(`${origin}\n-1\n${root}\n`, [signer])],
  [
    'short root',
    /the root of the checkpoint of the bundle is not a hash/,
    () => signNote(`${origin}\n16\nAAAA\n`, [signer]),
  ],
  ['root that is no base64', /is not base64/, () => signNote(`${origin}\n16\n${root.slice(0, -1)}\n`, [signer])],
  ['no root', /is not base64/, () => signNote(`${origin}\n16\n`, [signer])],
  [
    'empty extension',
    /is not a checkpoint|is not a signed note/,
    () => signNote(`${origin}\n16\n${root}\n\nx\n`, [signer]),
  ],
  ['no events and a root', /its root is not that of none/, () => signNote(`${origin}\n0\n${root}\n`, [signer])],
  ['control character', /it has control characters/, () => signNote(`${origin}\n16\n${root}\n\u001b[2J\n`, [signer])],
  ['end of line of another system', /it has control characters/, () => noteOf(log, [signer]).replaceAll('\n', '\r\n')],
  ['end that is missing', /is not a signed note/, () => noteOf(log, [signer]).slice(0, -1)],
  ['text alone', /is not a signed note/, () => 'text'],
  ['length', /is not a signed note/, () => signNote(`${origin}\n16\n${root}\n${'x'.repeat(70_000)}\n`, [signer])],
];

const bundles: [string, RegExp, (bundle: Thing) => void][] = [
  ['unnamed streams', /does not say which streams/, (bundle) => bundle.streams.reverse().push(1)],
  ['stream twice', /does not say which streams/, (bundle) => bundle.streams.push(post)],
  ['stream that is not the first', /does not say which streams/, (bundle) => bundle.streams.unshift(person)],
  ['no streams', /does not say which streams/, (bundle) => Object.assign(bundle, { streams: {} })],
  ['events that are no list', /events is not a list/, (bundle) => Object.assign(bundle, { events: {} })],
  ['invalid event', /events\[0\] is no event/, (bundle) => bundle.events.splice(0, 1, 1)],
  ['header that is no text', /events\[0\] has no header/, (bundle) => Object.assign(bundle.events[0], { header: {} })],
  [
    'payload that is no text',
    /event 2 .*its payload is no text/,
    (bundle) => Object.assign(bundle.events[0], { payload: {} }),
  ],
  [
    'half of a character as payload',
    /its payload is no text/,
    (bundle) => Object.assign(bundle.events[0], { payload: '\ud800' }),
  ],
  [
    'proof that is no list',
    /the proof of event 2 .*is not a list/,
    (bundle) => Object.assign(bundle.events[0], { proof: 'x' }),
  ],
  [
    'long proof',
    /is not a list of at most 64/,
    (bundle) => Object.assign(bundle.events[0], { proof: Array(65).fill(root) }),
  ],
  ['flag', /erased is 1, not true/, (bundle) => Object.assign(bundle.events[0], { payload: null, erased: 1 })],
  [
    'two flags',
    /erased and withheld/,
    (bundle) => Object.assign(bundle.events[0], { payload: null, erased: true, withheld: true }),
  ],
  ['missing member', /bundle\.json has no schemas/, (bundle) => delete bundle.schemas],
  ['missing proof', /events\[0\] has no proof/, (bundle) => delete bundle.events[0].proof],
  [
    'no event',
    /no event of posts\/\S+ is shown/,
    (bundle) => Object.assign(bundle, { events: [], versions: { [post]: 0 } }),
  ],
  ['event in two lists', /event 8 .*is no erasure/, (bundle) => bundle.erasures.push(bundle.events[2])],
  ['invalid schema', /event 4 .*is no schema/, (bundle) => bundle.schemas.splice(1, 1, bundle.events[1])],
  ['invalid rest', /rest is no object/, (bundle) => Object.assign(bundle, { rest: 1 })],
  [
    'headers that are no list',
    /the headers of rest are no list/,
    (bundle) => Object.assign(bundle.rest, { headers: {} }),
  ],
  ['header of rest that is no text', /a header of rest is no text/, (bundle) => bundle.rest.headers.splice(0, 1, 1)],
  ['invalid earlier', /earlier is not a list/, (bundle) => Object.assign(bundle, { earlier: 1 })],
  [
    'earlier of nothing',
    /earlier holds something that is not a proof/,
    (bundle) => Object.assign(bundle, { earlier: [1] }),
  ],
  [
    'earlier of later',
    /earlier has a wrong size/,
    (bundle) => Object.assign(bundle, { earlier: [{ size: 17, proof: [] }] }),
  ],
  ['files that are none', /files is not a list/, (bundle) => Object.assign(bundle, { files: 1 })],
  ['invalid file', /files holds something that is not a file/, (bundle) => Object.assign(bundle, { files: [1] })],
  [
    'invalid key',
    /verifierKey of the bundle is no verifier key/,
    (bundle) => Object.assign(bundle, { verifierKey: 'x' }),
  ],
];

const media: [string, RegExp, object][] = [
  ['included neither way', /is neither included nor not/, { included: 1 }],
  ['size', /has 19 bytes, as event 10 .*says, not 1/, { bytes: 1 }],
  ['included and missing', /said to be missing and included/, { missing: true }],
];

const exports: [string, RegExp, (manifest: Thing) => void][] = [
  ['from', /the range 0 to 16 is not one/, (manifest) => Object.assign(manifest, { from: 0 })],
  ['to', /the range 1 to -1 is not one/, (manifest) => Object.assign(manifest, { to: -1 })],
  ['withPayloads', /withPayloads is neither/, (manifest) => Object.assign(manifest, { withPayloads: 1 })],
  ['filters', /filters is no object/, (manifest) => Object.assign(manifest, { filters: [] })],
  ['filter', /the filter type is no text/, (manifest) => Object.assign(manifest, { filters: { type: 1 } })],
  ['kind', /^2 .*the format xml/, (manifest) => Object.assign(manifest, { kind: 'xml' })],
  ['origin', /the export names the log x/, (manifest) => Object.assign(manifest, { origin: 'x' })],
  ['consistency', /consistency is not a list/, (manifest) => delete manifest.consistency],
];

const texts: [string, string, RegExp, (text: string) => string][] = [
  [
    'ndjson',
    'line of another form',
    /line 1 has another form/,
    (text) => text.replace('},"payload":{"salt"', '},"body":{"salt"'),
  ],
  [
    'ndjson',
    'header that is a text',
    /line 1 has another form/,
    (text) => text.replace(/^.*?,"payload":\{"salt"/, '{"header":"","payload":{"salt"'),
  ],
  ['ndjson', 'proof where none belongs', /line 16 has another form/, (text) => text.replace(/\}\n$/, ',"proof":[]}\n')],
  ['cloudevents', 'invalid event', /line 1 is no event/, (text) => `1\n${text}`],
  ['cloudevents', 'other version', /line 1 is no CloudEvent of Annals/, (text) => text.replace('"1.0"', '"1.1"')],
  ['cloudevents', 'short sequence', /line 1 is no CloudEvent of Annals/, (text) => text.replace('"0000000001"', '"1"')],
  [
    'cloudevents',
    'fraction',
    /line 1 holds no header/,
    (text) => text.replace('"schemaversion":1', '"schemaversion":1.5'),
  ],
  ['csv', 'no columns', /events\.csv has no row of names/, () => ''],
  ['csv', 'columns', /^2 .*the columns of events\.csv/, (text) => text.replace('position', 'place')],
  ['csv', 'cell too many', /row 2 has 15 cells/, (text) => text.replace('\r\n1,', '\r\n1,2,')],
  ['csv', 'number', /row 2: its position is 01/, (text) => text.replace('\r\n1,', '\r\n01,')],
  ['csv', 'quote in a cell', /events\.csv has a row that is not CSV/, (text) => text.replace('\r\n1,', '\r\n1"",')],
  [
    'csv',
    'open quote',
    /events\.csv ends within quotes/,
    (text) => text.replace(/"\r\n$/, '\r\n').replace(/([0-9a-f]{64})\r\n$/, '"$1\r\n'),
  ],
];

describe('annals-verify knows by its form', () => {
  it('a header that does not hold what it must', async () => {
    for (const [what, says, change] of headers)
      assert.match(await verdictWith(change), new RegExp(`^1 NOT SOUND: .*${says.source}`), what);
  });

  it('a payload that does not hold what it must', async () => {
    for (const [what, says, body] of payloads) {
      assert.match(await verdictWith(saying(body)), new RegExp(`^1 NOT SOUND: event 8 .*${says.source}`), what);
    }
  });

  it('a type or a version of data that it cannot fold', async () => {
    const verdict = await verdictWith((entry) => rewritten(entry, { schemaVersion: 2 }));
    assert.match(verdict, /^2 UNDECIDED: event 8 .*has schemaVersion 2/);
    const other = await verdictWith((entry) => rewritten(entry, { type: 'document.moved' as never }));
    assert.match(other, /^2 UNDECIDED: event 8 .*of a type that this verifier does not know/);
    const restored = await verdictWith((entry) => rewritten(entry, { type: 'document.restored' }, { source: {} }));
    assert.match(restored, /^1 NOT SOUND: event 8 .*does not hold the document that it restores/);
  });

  it('an erasure that does not say of what', async () => {
    for (const data of [
      {},
      { streams: [1] },
      { streams: [{ stream: account, versions: '1' }] },
      { streams: [{ versions: 1 }] },
    ]) {
      const entries = log.map((entry, at) => (at === 13 ? rewritten(entry, {}, data) : entry));
      const bundle = bundleOf(entries, signer, person, null);
      assert.match(
        await verdictOf(...pinned, bundleIn(folder, name(), bundle)),
        /^1 NOT SOUND: event 14 .*does not say what it erased/,
      );
    }
  });

  it('an invalid checkpoint', async () => {
    for (const [what, says, note] of notes)
      assert.match(await verdictOnNote(note()), new RegExp(`^1 NOT SOUND: .*(${says.source})`), what);
  });

  it('a bundle that does not hold what it must', async () => {
    for (const [what, says, change] of bundles) {
      assert.match(await verdictOnBundle(change), new RegExp(`^1 NOT SOUND: .*${says.source}`), what);
    }
    const twice = (bundle: Thing) => bundle.erasures.push(shown(log[13] as Entry, log));
    assert.match(
      await verdictOnBundle(twice, person, null),
      /^1 NOT SOUND: event 14 .*is out of order: it comes after event 14/,
    );
    for (const [what, says, change] of media) {
      const { sha256 } = JSON.parse(log[9]?.body ?? '').data;
      const file = { sha256, bytes: 19, version: 1, included: true, ...change };
      const bundle = bundleOf(log, signer, log[9]?.header.stream ?? '', null, { files: [file] });
      bundle.document = JSON.parse(log[9]?.body ?? '').data;
      assert.match(
        await verdictOf(...pinned, bundleIn(folder, name(), bundle)),
        new RegExp(`^1 NOT SOUND: .*${says.source}`),
        what,
      );
    }
  });

  it('an export that does not hold what it must', async () => {
    for (const [what, says, change] of exports) assert.match(await verdictOnExport(change), says, what);
    for (const [kind, what, says, rewrite] of texts)
      assert.match(await verdictOnExport(() => {}, kind, rewrite), says, `${kind}: ${what}`);
  });

  it('a kept checkpoint of the empty log, and of another one', async () => {
    const empty = writeNote(join(folder, 'empty.txt'), noteOf([], [signer]));
    assert.match(await verdictOnBundle(() => {}, post, postNow, [...pinned, '--checkpoint', empty]), /^0 SOUND/);
    const other = createSigner('annals/other');
    const note = writeNote(join(folder, 'other.txt'), noteOf(log, [other], 6, 'annals/other'));
    const keys = [...pinned, '--key', other.verifierKey, '--checkpoint', note];
    assert.match(await verdictOnBundle(() => {}, post, postNow, keys), /^1 NOT SOUND: .*is of the log/);
  });

  it('a proof of consistency with a hash too many, too few, or another one', async () => {
    const kept = [...pinned, '--checkpoint', writeNote(join(folder, 'four.txt'), noteOf(log, [signer], 4))];
    const proof = bundleOf(log, signer, post, postNow, { earlier: [4] }).earlier[0].proof as string[];
    for (const wrong of [
      [...proof, proof[0]],
      proof.slice(1),
      proof.slice(0, -1),
      [],
      [...proof].reverse(),
      encoded([randomBytes(32)]),
    ]) {
      const bundle = { ...bundleOf(log, signer, post, postNow), earlier: [{ size: 4, proof: wrong }] };
      assert.match(
        await verdictOf(...kept, bundleIn(folder, name(), bundle)),
        /^2 UNDECIDED: the proof does not lead from the kept checkpoint/,
      );
    }
    const bundle = { ...bundleOf(log, signer, post, postNow), earlier: [{ size: 4, proof }] };
    assert.match(await verdictOf(...kept, bundleIn(folder, name(), bundle)), /^0 SOUND/);
  });
});

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { run } from '../../verify/annals-verify.mjs';
import { useFolder } from '../helpers/shared.ts';
import {
  bodyOf,
  createSigner,
  type Entry,
  type ExportOptions,
  exportOf,
  hexOf,
  noteOf,
  rewritten,
  shown,
  type Thing,
  writeNote,
} from './forger.ts';
import { erased, exportIn, lively, verdictOf } from './histories.ts';

const folder = useFolder();
const signer = createSigner();
const stranger = createSigner();
const log = erased(lively());
const kept = writeNote(join(folder, 'kept.txt'), noteOf(log, [signer], 6));
const pinned = ['--key', signer.verifierKey, '--checkpoint', kept];
let count = 0;

type Made = { manifest: Thing; text: string };

function folderOf(made: Made): string {
  count += 1;
  return exportIn(folder, `export-${count}`, made);
}

function honest(from = 3, to = 12, options: ExportOptions = {}, entries = log): Made {
  return exportOf(entries, signer, from, to, { earlier: [6], ...options });
}

/** The text changed, and all that the manifest says about it. */
function edited({ manifest, text }: Made, change: (text: string) => string, more: object = {}): Made {
  const after = change(text);
  const facts = { bytes: Buffer.byteLength(after), sha256: hexOf(after) };
  return { text: after, manifest: { ...manifest, ...facts, ...more } };
}

/** Without one line, and the manifest as if it had never been there. */
function without(made: Made, line: number): Made {
  return edited(made, (text) => text.split('\n').toSpliced(line, 1).join('\n'), { events: made.manifest.events - 1 });
}

describe('annals-verify on exports', () => {
  for (const kind of ['ndjson', 'csv', 'cloudevents']) {
    for (const [from, to] of [
      [1, 16],
      [1, 6],
      [3, 12],
      [7, 16],
      [16, 16],
      [5, 4],
      [1, 0],
    ] as const) {
      it(`finds one as ${kind} from ${from} to ${to} sound`, async () => {
        const { exit, text } = await run([...pinned, folderOf(honest(from, to, { kind }))]);
        assert.equal(exit, 0, text);
        const all =
          from === to ? `event ${from} is there` : `all ${to - from + 1} events from ${from} to ${to} are there`;
        assert.match(text, new RegExp(all));
        assert.match(text, /it continues the kept checkpoint kept\.txt/);
      });
    }
  }

  it('says what it proves, with payloads and without', async () => {
    const all = await run([...pinned, folderOf(honest(1, 16))]);
    assert.match(all.text, /14 payloads are those that their headers commit to/);
    assert.match(all.text, /2 payloads are gone, as events of the log declare/);
    const headers = await run([...pinned, folderOf(honest(1, 16, { withPayloads: false }))]);
    assert.equal(headers.exit, 0, headers.text);
    assert.match(headers.text, /open +what the events say: the export is one of headers/);
    const csv = await run([...pinned, folderOf(honest(1, 16, { kind: 'csv' }))]);
    assert.match(csv.text, /open +data, reasons and changed fields: only NDJSON/);
  });

  it('goes without a proof from a size whose root the events themselves give', async () => {
    assert.match(await verdictOf(...pinned, folderOf(honest(7, 16, { earlier: [] }))), /^0 SOUND/);
    assert.match(
      await verdictOf(...pinned, folderOf(honest(8, 16, { earlier: [] }))),
      /^2 UNDECIDED: nothing proves .* since=6/,
    );
  });

  it('proves each event of one with filters, and not that there are no others', async () => {
    const made = honest(1, 16, { filters: { collection: 'posts' } });
    const { exit, text } = await run([...pinned, folderOf(made)]);
    assert.equal(exit, 0, text);
    assert.match(text, /proven +each of the 7 events is in the log/);
    assert.match(text, /open +whether events that fit the filters were left out/);
    const csv = await run([...pinned, folderOf(honest(1, 16, { filters: { collection: 'posts' }, kind: 'csv' }))]);
    assert.match(csv.text, /open +the contents of events\.csv/);
  });

  it('knows by what collections and streams are found', async () => {
    const fitting = {
      posts: 7,
      globals: 2,
      'globals/site': 2,
      accounts: 1,
      'accounts/users': 1,
      system: 3,
      'system/schema': 2,
    };
    for (const [collection, events] of Object.entries(fitting)) {
      const { manifest, text } = honest(1, 16, { filters: { collection } });
      assert.equal(manifest.events, events, collection);
      assert.match(await verdictOf(...pinned, folderOf({ manifest, text })), /^0 SOUND/, collection);
    }
    const other = honest(1, 16, { filters: { collection: 'globals/site' } });
    const named = { ...other.manifest, filters: { collection: 'globals/other' } };
    assert.match(await verdictOf(...pinned, folderOf({ ...other, manifest: named })), /^1 NOT SOUND: .*does not fit/);
  });

  it('knows of types that there may be several', async () => {
    const made = honest(1, 16, { filters: { type: 'schema.changed,document.deleted' } });
    assert.match(await verdictOf(...pinned, folderOf(made)), /^0 SOUND/);
    for (const type of ['schema.changed', 'schema.changed,document.erased', 'schema.changeddocument.deleted']) {
      const named = { ...made.manifest, filters: { type } };
      const verdict = await verdictOf(...pinned, folderOf({ ...made, manifest: named }));
      assert.match(verdict, /^1 NOT SOUND: .*does not fit the filter type/, type);
    }
  });

  it('takes no empty line, no lone half, no other format for what it knows', async () => {
    const made = honest();
    assert.match(
      await verdictOf(...pinned, folderOf(edited(made, (text) => `${text}\n`))),
      /^1 NOT SOUND: line 11 is not JSON/,
    );
    assert.match(
      await verdictOf(...pinned, folderOf(edited(made, (text) => text.slice(0, -1)))),
      /^1 NOT SOUND: .*cut off/,
    );
    const format = { ...made.manifest, format: 'annals-export/2' };
    assert.match(
      await verdictOf(...pinned, folderOf({ ...made, manifest: format })),
      /^2 UNDECIDED: .*annals-export\/2/,
    );
    const filter = honest(1, 16, { filters: { collection: 'posts', mood: 'good' } });
    assert.match(await verdictOf(...pinned, folderOf(filter)), /^2 UNDECIDED: the export has the filter mood/);
  });
});

function at(position: number, change: (entry: Entry) => Entry): Entry[] {
  return log.map((entry, index) => (index === position - 1 ? change(entry) : entry));
}

const never = (entry: Entry) => rewritten(entry, {}, { set: { title: 'Never said' } });
const lie = (made: Made, manifest: object): Made => ({ ...made, manifest: { ...made.manifest, ...manifest } });

const lies: Record<string, { made: () => Made; says: RegExp }> = {
  'a document rewritten with a tree and a signature of its own': {
    made: () => honest(3, 12, {}, at(4, never)),
    says: /^1 NOT SOUND: this is another log than that of the kept checkpoint kept\.txt: at 6 events/,
  },
  'the same, out of reach of the range': {
    made: () => honest(10, 12, {}, at(4, never)),
    says: /^2 UNDECIDED: the proof does not lead from the kept checkpoint/,
  },
  'a rewritten event under the true checkpoint': {
    made: () =>
      lie(honest(3, 12, {}, at(4, never)), {
        checkpoint: noteOf(log, [signer]),
        erasures: honest().manifest.erasures,
      }),
    says: /^1 NOT SOUND: the events 3 to 12 are not those of the log/,
  },
  'an altered payload': {
    made: () => edited(honest(), (text) => text.replace('"Two"', '"Too"')),
    says: /^1 NOT SOUND: event 4 .*its payload is not the one/,
  },
  'an altered header': {
    made: () => edited(honest(), (text) => text.replace('"request-4"', '"request-5"')),
    says: /^1 NOT SOUND: the events 3 to 12 are not those of the log/,
  },
  'bytes that the manifest is not of': {
    made: () => ({ ...honest(), text: honest().text.replace('request-4', 'request-5') }),
    says: /^1 NOT SOUND: events\.ndjson was altered/,
  },
  'a line left out in the middle': {
    made: () => without(honest(), 3),
    says: /^1 NOT SOUND: event 6 is missing: event 7/,
  },
  'the last line left out': {
    made: () => without(honest(), 9),
    says: /^1 NOT SOUND: event 12 is missing: the export ends before 12/,
  },
  'the first line left out': { made: () => without(honest(), 0), says: /^1 NOT SOUND: event 3 is missing/ },
  'a range cut to fit': {
    made: () => lie(without(honest(), 9), { to: 11 }),
    says: /^1 NOT SOUND: the events 3 to 11 are not those of the log/,
  },
  'an event of outside the range': {
    made: () => {
      const { text } = honest(3, 13);
      return edited(honest(), () => text, { events: 11 });
    },
    says: /^1 NOT SOUND: event 13 .*is not in the range 3 to 12/,
  },
  'reordered lines': {
    made: () =>
      edited(honest(), (text) =>
        text
          .split('\n')
          .toSpliced(3, 2, ...text.split('\n').slice(3, 5).reverse())
          .join('\n'),
      ),
    says: /^1 NOT SOUND: event 6 is missing: event 7/,
  },
  'another count': {
    made: () => lie(honest(), { events: 9 }),
    says: /^1 NOT SOUND: events\.ndjson holds 10 events, the manifest says 9/,
  },
  'another size': {
    made: () => lie(honest(), { bytes: 9 }),
    says: /^1 NOT SOUND: events\.ndjson has \d+ bytes, the manifest says 9/,
  },
  'wrong subtrees before it': {
    made: () => lie(honest(), { before: honest(7, 12).manifest.before.slice(0, 1) }),
    says: /^1 NOT SOUND: the events 3 to 12 are not those of the log/,
  },
  'no consistency with the checkpoint': {
    made: () => lie(honest(), { consistency: honest(3, 11).manifest.consistency }),
    says: /^1 NOT SOUND: the events 3 to 12 are not those of the log/,
  },
  'a range beyond the checkpoint': {
    made: () => lie(honest(), { to: 17 }),
    says: /^1 NOT SOUND: the range 3 to 17 is not one of the 16 events/,
  },
  'a payload erased without a declaration': {
    made: () => edited(honest(), (text) => text.replace(/("payload":)\{.*"Two".*\}\}/, '$1null,"erased":true}')),
    says: /^1 NOT SOUND: event 4 .*its payload is missing, and no document\.erased declares it/,
  },
  'a payload that is just not there': {
    made: () => edited(honest(), (text) => text.replace(/("payload":)\{.*"Two".*\}\}/, '$1null}')),
    says: /^1 NOT SOUND: event 4 .*its payload is missing, and the line does not say why/,
  },
  'erasures left out': {
    made: () => lie(honest(), { erasures: [] }),
    says: /^1 NOT SOUND: event 3 .*no document\.erased declares it/,
  },
  'an invalid erasure': {
    made: () => lie(honest(), { erasures: [shown(log[15] as Entry, log)] }),
    says: /^1 NOT SOUND: event 16 .*is no erasure/,
  },
  'an erasure with a made-up payload': {
    made: () => {
      const made = honest();
      made.manifest.erasures[0].payload = bodyOf({ streams: [] });
      return made;
    },
    says: /^1 NOT SOUND: event 14 .*its payload is not the one/,
  },
  'a payload in an export of headers': {
    made: () => lie(honest(), { withPayloads: false }),
    says: /^1 NOT SOUND: line 1 has a payload, in an export of headers/,
  },
  'a name twice in a line': {
    made: () => edited(honest(), (text) => text.replace('"payload"', '"payload":{},"payload"')),
    says: /^1 NOT SOUND: line 1 is not JSON as it is written/,
  },
  'an event that does not fit the filters': {
    made: () => {
      const made = honest(1, 16, { filters: { collection: 'posts' } });
      return lie(made, { filters: { collection: 'users' } });
    },
    says: /^1 NOT SOUND: event 2 .*does not fit the filter collection/,
  },
  'a made-up event in one with filters': {
    made: () =>
      edited(honest(1, 16, { filters: { collection: 'posts' } }), (text) => text.replace('"request-4"', '"request-5"')),
    says: /^1 NOT SOUND: event 4 .*its proof does not show/,
  },
  'filters and a range that they prove': {
    made: () => lie(honest(1, 16, { filters: { collection: 'posts' } }), { before: [] }),
    says: /^1 NOT SOUND: an export with filters proves no range/,
  },
  'another key': {
    made: () => exportOf(log, stranger, 3, 12),
    says: /^2 UNDECIDED: the export names another key/,
  },
  'a file that the manifest does not name': {
    made: () => lie(honest(), { file: 'events.csv' }),
    says: /^1 NOT SOUND: the manifest does not name events\.ndjson/,
  },
  'an altered cell': {
    made: () => edited(honest(3, 12, { kind: 'csv' }), (text) => text.replace('request-4', 'request-5')),
    says: /^1 NOT SOUND: the events 3 to 12 are not those of the log/,
  },
  'a row left out': {
    made: () => {
      const made = honest(3, 12, { kind: 'csv' });
      return edited(made, (text) => text.split('\r\n').toSpliced(2, 1).join('\r\n'), { events: 9 });
    },
    says: /^1 NOT SOUND: event 4 is missing/,
  },
  'an altered attribute': {
    made: () =>
      edited(honest(3, 12, { kind: 'cloudevents' }), (text) =>
        text.replace('"actorid":"users/1"', '"actorid":"users/2"'),
      ),
    says: /^1 NOT SOUND: the events 3 to 12 are not those of the log/,
  },
};

describe('annals-verify and a lying server: exports', () => {
  it('rejects a file that the manifest does not know', async () => {
    const path = folderOf(honest());
    writeFileSync(join(path, 'events.csv'), 'position');
    assert.match(
      await verdictOf(...pinned, path),
      /^1 NOT SOUND: events\.csv is in the export, and its manifest does not say so/,
    );
  });

  for (const [what, { made, says }] of Object.entries(lies)) {
    it(`rejects ${what}`, async () => {
      assert.match(await verdictOf(...pinned, folderOf(made())), says);
    });
  }
});

import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, readlinkSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { EventType } from '../../events/facts/catalogue.ts';
import type { ExportFormat } from '../../server/audit/exports/formats.ts';
import { run } from '../../verify/annals-verify.mjs';
import { runsOf } from '../helpers/runs.ts';
import { useFolder } from '../helpers/shared.ts';
import { altered, type Files, forged, madeAt, restated, signedAt, useArchives } from './archives.ts';
import { createHistory, createSigner, type Entry, exportOf, type Thing, zipOf } from './forger.ts';
import { account, erased, exportIn, lively, person, post, unpacked, verdictOf } from './histories.ts';

const folder = useFolder();
const signer = createSigner();
const pinned = ['--key', signer.verifierKey];
const archives = useArchives(folder, signer);
let count = 0;

function pathOf(name: string): string {
  count += 1;
  return join(folder, `${count}-${name}`);
}

function folderOf(files: Files): string {
  count += 1;
  return unpacked(folder, `archive-${count}`, files);
}

/** The files of a folder that this process holds open. */
function openIn(path: string): string[] {
  const targets = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(join('/proc/self/fd', fd));
    } catch {
      return '';
    }
  });
  return targets.filter((target) => target.startsWith(path));
}

/** The log of other tests, and somebody who says why. */
function log(): Entry[] {
  const entries = lively();
  const { record } = createHistory(undefined, entries);
  record(
    post,
    'document.updated',
    { set: { title: '=1+1', constructor: 'x' }, unset: ['tags'] },
    {},
    { reason: 'so; it\n@is', ip: '::1' },
  );
  return erased(entries);
}

const events = log();
const all = events.length;

describe('annals-verify makes again what people read', () => {
  it('the page and the README of a pack, and says what of them is not proven', async () => {
    for (const stream of [post, 'posts/2', person, account, 'globals/site']) {
      const { exit, text } = await run([...pinned, folderOf(await archives.bundle(events, stream))]);
      assert.equal(exit, 0, text);
      assert.match(text, /proven +summary\.html is what the events make, byte for byte/);
      assert.match(text, /proven +README\.txt is the text that belongs there/);
      assert.match(text, new RegExp(`open +when the checkpoint was signed: the bundle says ${signedAt}`));
      assert.match(text, /open +annals-verify\.mjs inside: never to be trusted/);
      assert.match(text, /^SOUND \(\d+ events, [\d.]+ s\)$/m);
    }
  });

  it('CSV and CloudEvents of the NDJSON that goes along, so that data and reasons are proven', async () => {
    for (const format of ['csv', 'cloudevents'] as const) {
      const file = format === 'csv' ? 'events.csv' : 'events.cloudevents.ndjson';
      for (const [from, to, options] of [
        [1, all, {}],
        [3, 12, {}],
        [5, 4, {}],
        [1, all, { withPayloads: false }],
        [1, all, { filters: { collection: 'posts' } }],
        [1, all, { filters: { type: 'document.updated', actor: 'users/1' }, withPayloads: false }],
      ] as const) {
        const { exit, text } = await run([
          ...pinned,
          folderOf(await archives.range(events, format, from, to, options)),
        ]);
        assert.equal(exit, 0, text);
        assert.match(text, new RegExp(`proven +${file} is what the events make, byte for byte`));
        assert.match(text, /proven +README\.txt is the text that belongs there/);
        assert.match(text, new RegExp(`open +when the export was made: its manifest says ${madeAt}`));
        assert.doesNotMatch(text, /only NDJSON|holds no proofs/);
        assert.match(text, /^SOUND \(\d+ events, [\d.]+ s\)$/m);
      }
    }
  });

  it('to the byte, whatever is recorded', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(recorded, { minLength: 1, maxLength: 12 }), async (said) => {
        const { entries, record } = createHistory();
        record('system/schema', 'schema.changed', { schema: { collections: [], globals: [] } });
        record(post, 'document.created', { id: post.slice(6) });
        for (const { type, data, context } of said) record(post, type, data, {}, context);
        const [pack, csv, cloudevents] = await Promise.all([
          archives.bundle(entries, post),
          archives.range(entries, 'csv', 1, entries.length),
          archives.range(entries, 'cloudevents', 1, entries.length),
        ]);
        for (const files of [pack, csv, cloudevents]) {
          const { exit, text } = await run([...pinned, folderOf(files)]);
          assert.equal(exit, 0, `${text}${JSON.stringify(said)}`);
        }
      }),
      { numRuns: runsOf(10) },
    );
  });

  it('and leaves no file open, also if it found something', { skip: process.platform !== 'linux' }, async () => {
    const table = await archives.range(events, 'csv', 1, all);
    const ndjson = String(table['events.ndjson']);
    const lines = ndjson.split('\n');
    const swapped = [lines[1], lines[0], ...lines.slice(2)].join('\n');
    for (const files of [{ ...table, 'events.ndjson': swapped }, await archives.bundle(events, post)]) {
      const path = folderOf(files);
      const { exit } = await run([...pinned, path]);
      assert.deepEqual([exit, openIn(path)], [files['events.ndjson'] ? 1 : 0, []]);
    }
  });

  it('and writes the page and the CSV where it is told to', async () => {
    const pack = await archives.bundle(events, post);
    const page = pathOf('page.html');
    const { exit, text } = await run([...pinned, '--summary', page, folderOf(pack)]);
    assert.equal(exit, 0, text);
    assert.match(text, /^written +.*page\.html, which is what the events make$/m);
    assert.equal(readFileSync(page, 'utf8'), String(pack['summary.html']));
    assert.equal(statSync(page).mode & 0o777, 0o600);
    const csv = await archives.range(events, 'csv', 2, 9);
    for (const format of ['csv', 'ndjson', 'cloudevents'] as const) {
      const table = pathOf('events.csv');
      assert.match(
        await verdictOf(...pinned, '--csv', table, folderOf(await archives.range(events, format, 2, 9))),
        /^0 /,
      );
      assert.equal(readFileSync(table, 'utf8'), String(csv['events.csv']), format);
    }
  });

  it('and writes the true page of a pack whose own is false or missing, but nothing unproven', async () => {
    const pack = await archives.bundle(events, post);
    const { 'summary.html': honest, ...rest } = pack;
    for (const [files, verdict] of [
      [altered(pack, 'summary.html', (html) => html.replace('Three', 'Lie')), /^1 NOT SOUND: summary\.html is not/],
      [rest, /^0 SOUND/],
    ] as const) {
      const page = pathOf('page.html');
      assert.match(await verdictOf(...pinned, '--summary', page, folderOf(files)), verdict);
      assert.equal(readFileSync(page, 'utf8'), String(honest));
    }
    const wrong = restated(pack, 'bundle.json', (bundle) => {
      bundle.events[1].payload = bundle.events[0].payload;
    });
    const csv = forged(await archives.range(events, 'csv', 1, all), 'events.ndjson', (lines) =>
      lines.replace('"Two"', '"Too"'),
    );
    const headers = await archives.range(events, 'csv', 1, all);
    const last = restated(headers, 'manifest.json', (manifest) => manifest.consistency.push(manifest.before));
    for (const [args, files, verdict] of [
      [[...pinned, '--summary'], wrong, /^1 NOT SOUND: event 4/],
      [['--summary'], pack, /^2 UNDECIDED: it is sound in itself, but no key was pinned/],
      [[...pinned, '--csv'], csv, /^1 NOT SOUND: event 4/],
      [[...pinned, '--csv'], last, /^1 NOT SOUND: /],
      [[...pinned, '--csv'], pack, /^2 UNDECIDED: --csv goes with exports only/],
      [[...pinned, '--summary'], headers, /^2 UNDECIDED: --summary goes with bundles only/],
    ] as const) {
      const out = pathOf('out');
      assert.match(await verdictOf(...args, out, folderOf(files)), verdict);
      assert.deepEqual([existsSync(out), existsSync(`${out}.partial`)], [false, false]);
    }
    const there = pathOf('there');
    writeFileSync(there, 'kept');
    assert.match(
      await verdictOf(...pinned, '--summary', there, folderOf(pack)),
      /^2 UNDECIDED: .*nothing is overwritten/,
    );
    assert.equal(readFileSync(there, 'utf8'), 'kept');
  });
});

type Lie = { from: () => Promise<Files>; tell: (files: Files) => Files; says: RegExp };

const pack = () => archives.bundle(events, post);
const table = (format: ExportFormat) => () => archives.range(events, format, 1, all);
const onPage = (change: (html: string) => string) => (files: Files) => altered(files, 'summary.html', change);
const inTable = (change: (text: string) => string) => (files: Files) => forged(files, 'events.csv', change);
const inEvents = (change: (text: string) => string) => (files: Files) => {
  return forged(files, 'events.cloudevents.ndjson', change);
};
const row = (text: string, index: number) => text.split('\r\n').toSpliced(index, 1).join('\r\n');

const lies: Record<string, Lie> = {
  'a page with another text': {
    from: pack,
    tell: onPage((html) => html.replace('Three', 'Never said')),
    says: /^1 NOT SOUND: summary\.html is not what the events make: it differs first in version 3$/,
  },
  'a page with another author': {
    from: pack,
    tell: onPage((html) => html.replace('user users/1', 'user users/2')),
    says: /^1 NOT SOUND: summary\.html is not what the events make: it differs first in version 1$/,
  },
  'a page with another reason': {
    from: pack,
    tell: onPage((html) => html.replace('@is', '@was')),
    says: /^1 NOT SOUND: summary\.html is not what the events make: it differs first in version 6$/,
  },
  'a page with another head': {
    from: pack,
    tell: onPage((html) => html.replace('Every change on record', 'Some changes')),
    says: /^1 NOT SOUND: summary\.html is not what the events make: it differs first in its first lines$/,
  },
  'a page with a style that hides a version': {
    from: pack,
    tell: onPage((html) => html.replace('</style>', 'h2:nth-of-type(3){display:none}</style>')),
    says: /^1 NOT SOUND: summary\.html is not what the events make: it differs first in its first lines$/,
  },
  'a page that is cut off': {
    from: pack,
    tell: onPage((html) => html.slice(0, -10)),
    says: /^1 NOT SOUND: summary\.html is not what the events make: it differs first in its end$/,
  },
  'a page with more behind it': {
    from: pack,
    tell: onPage((html) => `${html}<script>document.body.innerText = 'Lie'</script>`),
    says: /^1 NOT SOUND: summary\.html is not what the events make: it differs first in what follows its end$/,
  },
  'an empty page': {
    from: pack,
    tell: onPage(() => ''),
    says: /^1 NOT SOUND: summary\.html is not what the events make/,
  },
  'a page of a pack that is made to look older': {
    from: pack,
    tell: (files) =>
      restated(onPage((html) => html.replace('Three', 'Never said'))(files), 'bundle.json', (bundle) => {
        delete bundle.texts;
        delete bundle.signedAt;
      }),
    says: /^1 NOT SOUND: summary\.html is not what the events make: it differs first in version 3$/,
  },
  'a page of a pack that is made to look newer': {
    from: pack,
    tell: (files) =>
      restated(onPage((html) => html.replace('Three', 'Never said'))(files), 'bundle.json', (bundle) => {
        bundle.texts = 2;
      }),
    says: /^2 UNDECIDED: README\.txt and summary\.html may be written in a way .* \(texts 2\): take a newer one$/,
  },
  'another time of the signature beside the page': {
    from: pack,
    tell: (files) =>
      restated(files, 'bundle.json', (bundle) => {
        bundle.signedAt = madeAt;
      }),
    says: /^1 NOT SOUND: summary\.html is not what .*; README\.txt is not the text that belongs there$/,
  },
  'no time of the signature': {
    from: pack,
    tell: (files) =>
      restated(files, 'bundle.json', (bundle) => {
        bundle.signedAt = 'yesterday';
      }),
    says: /^1 NOT SOUND: signedAt is yesterday$/,
  },
  'a README that names a key': {
    from: pack,
    tell: (files) => altered(files, 'README.txt', (text) => text.replace("--key 'annals/...'", '--trust-inside')),
    says: /^1 NOT SOUND: README\.txt is not the text that belongs there$/,
  },
  'a README of another document': {
    from: pack,
    tell: (files) => altered(files, 'README.txt', (text) => text.replace(post, 'posts/2')),
    says: /^1 NOT SOUND: README\.txt is not the text that belongs there$/,
  },
  'a README without an end': {
    from: pack,
    tell: (files) => altered(files, 'README.txt', (text) => text + 'x'.repeat(70_000)),
    says: /^1 NOT SOUND: README\.txt is not the text that belongs there$/,
  },
  'another page to read in a pack': {
    from: pack,
    tell: (files) => ({ ...files, 'summary.txt': 'Nothing was changed.' }),
    says: /^2 UNDECIDED: summary\.txt is in the bundle, and belongs to none$/,
  },
  'a page to read in an export': {
    from: table('csv'),
    tell: (files) => ({ ...files, 'summary.html': 'Nothing was changed.' }),
    says: /^1 NOT SOUND: summary\.html is in the export, and its manifest does not say so$/,
  },
  'a README of another range': {
    from: table('csv'),
    tell: (files) => altered(files, 'README.txt', (text) => text.replace('number 1 to', 'number 2 to')),
    says: /^1 NOT SOUND: README\.txt is not the text that belongs there$/,
  },
  'an export of a newer kind': {
    from: table('csv'),
    tell: (files) =>
      restated(files, 'manifest.json', (manifest) => {
        manifest.texts = 'x';
      }),
    says: /^2 UNDECIDED: README\.txt and events\.csv may be written in a way .* \(texts x\): take a newer one$/,
  },
  'a README with a sentence put in by the manifest': {
    from: table('csv'),
    tell: (files) =>
      restated(
        altered(files, 'README.txt', (text) => text.replace(madeAt, 'the day of approval')),
        'manifest.json',
        (manifest) => {
          manifest.madeAt = 'the day of approval';
        },
      ),
    says: /^1 NOT SOUND: madeAt is the day of approval$/,
  },
  'a README with lines put in by a filter': {
    from: () => archives.range(events, 'csv', 1, all, { filters: { type: 'account.locked' } }),
    tell: (files) =>
      restated(
        altered(files, 'README.txt', (text) => text.replace('account.locked', 'x\nAll of it is approved.')),
        'manifest.json',
        (manifest) => {
          manifest.filters.type = 'x\nAll of it is approved.';
        },
      ),
    says: /^1 NOT SOUND: the filter type is no text$/,
  },
  'CSV with other data': {
    from: table('csv'),
    tell: inTable((text) => text.replace('Three', 'Lie')),
    says: /^1 NOT SOUND: events\.csv is not what the events make: it differs first in event 8 \(posts\/\S+, version 3, document\.updated\)$/,
  },
  'CSV with another reason': {
    from: table('csv'),
    tell: inTable((text) => text.replace('so;', 'no;')),
    says: new RegExp(`^1 NOT SOUND: events\\.csv is not what the events make: it differs first in event ${all} `),
  },
  'CSV with another field changed': {
    from: table('csv'),
    tell: inTable((text) => text.replace('"title old"', '"title"')),
    says: /^1 NOT SOUND: events\.csv is not what the events make: it differs first in event 8 /,
  },
  'CSV with another actor': {
    from: table('csv'),
    tell: inTable((text) => text.replace('users/1', 'users/2')),
    says: /^1 NOT SOUND: events\.csv is not what the events make: it differs first in event 2 /,
  },
  'CSV with a formula let loose': {
    from: table('csv'),
    tell: inTable((text) => text.replace("'@is", '@is')),
    says: new RegExp(`^1 NOT SOUND: events\\.csv is not what the events make: it differs first in event ${all} `),
  },
  'CSV without a row': {
    from: table('csv'),
    tell: inTable((text) => row(text, 5)),
    says: /^1 NOT SOUND: events\.csv is not what the events make: it differs first in event 5 /,
  },
  'CSV with a row more': {
    from: table('csv'),
    tell: inTable((text) => `${text}"18"\r\n`),
    says: /^1 NOT SOUND: events\.csv is not what the events make: it differs first in what follows its end$/,
  },
  'CSV with other columns': {
    from: table('csv'),
    tell: inTable((text) => text.replace('"actorId"', '"approvedBy"')),
    says: /^1 NOT SOUND: events\.csv is not what the events make: it differs first in its first line$/,
  },
  'CSV without a row, of a selection': {
    from: () => archives.range(events, 'csv', 1, all, { filters: { collection: 'posts' } }),
    tell: inTable((text) => row(text, 3)),
    says: /^1 NOT SOUND: events\.csv is not what the events make: it differs first in event 6 /,
  },
  'CSV with data where the event has no data': {
    from: () => archives.range(events, 'csv', 1, all, { withPayloads: false }),
    tell: inTable((text) => text.replace('"","",""', '"","title","{}"')),
    says: /^1 NOT SOUND: events\.csv is not what the events make/,
  },
  'CSV and NDJSON with the same other data': {
    from: table('csv'),
    tell: (files) =>
      inTable((text) => text.replace('Three', 'Lie'))(
        forged(files, 'events.ndjson', (text) => text.replace('Three', 'Lie')),
      ),
    says: /^1 NOT SOUND: event 8 .*its payload is not the one that its header commits to$/,
  },
  'CloudEvents with other data': {
    from: table('cloudevents'),
    tell: inEvents((text) => text.replace('Three', 'Lie')),
    says: /^1 NOT SOUND: events\.cloudevents\.ndjson is not what the events make: it differs first in event 8 /,
  },
  'CloudEvents with another reason': {
    from: table('cloudevents'),
    tell: inEvents((text) => text.replace('so;', 'no;')),
    says: new RegExp(`^1 NOT SOUND: events\\.cloudevents\\.ndjson is not what .* in event ${all} `),
  },
  'CloudEvents whose payload is said to be erased': {
    from: table('cloudevents'),
    tell: inEvents((text) => text.replace(/,"data":\{"set":\{"title":"Three".*\}\}/, ',"erased":true}')),
    says: /^1 NOT SOUND: events\.cloudevents\.ndjson is not what .* in event 8 /,
  },
  'a manifest with another SHA-256 of the CSV': {
    from: table('csv'),
    tell: (files) =>
      restated(files, 'manifest.json', (manifest) => {
        manifest.sha256 = manifest.source.sha256;
      }),
    says: /^1 NOT SOUND: the manifest says another SHA-256 of events\.csv than it has$/,
  },
  'a manifest with another SHA-256 of the NDJSON': {
    from: table('csv'),
    tell: (files) =>
      restated(files, 'manifest.json', (manifest) => {
        manifest.source.sha256 = manifest.sha256;
      }),
    says: /^1 NOT SOUND: events\.ndjson was altered: its SHA-256 is not that of the manifest$/,
  },
  'another size of the CSV': {
    from: table('csv'),
    tell: (files) =>
      restated(files, 'manifest.json', (manifest) => {
        manifest.bytes += 1;
      }),
    says: /^1 NOT SOUND: events\.csv has \d+ bytes, the manifest says \d+$/,
  },
  'no NDJSON beside the CSV': {
    from: table('csv'),
    tell: ({ 'events.ndjson': _, ...files }) => files,
    says: /^1 NOT SOUND: events\.ndjson is not there$/,
  },
  'another file as the source': {
    from: table('csv'),
    tell: (files) =>
      restated(files, 'manifest.json', (manifest) => {
        manifest.source.file = 'README.txt';
      }),
    says: /^1 NOT SOUND: source names README\.txt, not events\.ndjson$/,
  },
  'a source of NDJSON': {
    from: table('ndjson'),
    tell: (files) =>
      restated(files, 'manifest.json', (manifest) => {
        manifest.source = {};
      }),
    says: /^1 NOT SOUND: source is no file beside another format$/,
  },
};

describe('annals-verify and a lying server: what people read', () => {
  for (const [what, { from, tell, says }] of Object.entries(lies)) {
    it(`rejects ${what}`, async () => {
      assert.match(await verdictOf(...pinned, folderOf(tell(await from()))), says);
    });
  }

  it('finds a byte of a ZIP that was changed in what people read', async () => {
    for (const [files, names] of [
      [await pack(), ['README.txt', 'summary.html']],
      [await archives.range(events, 'csv', 1, all), ['README.txt', 'events.csv']],
    ] as const) {
      const zip = await zipOf(files);
      assert.match(await verdictIn(zip), /^0 SOUND/);
      for (const name of names) {
        const at = zip.indexOf(name) + name.length;
        for (let offset = 0; offset < 400; offset += 40) {
          const bytes = Buffer.from(zip);
          bytes[at + offset] = (bytes[at + offset] as number) ^ (1 << (offset % 8));
          assert.match(await verdictIn(bytes), /^[12] (NOT SOUND|UNDECIDED): /, `${name}, byte ${offset}`);
        }
      }
    }
  });

  it('says of archives from before what it cannot hold against anything, in the last line too', async () => {
    const older = restated(await pack(), 'bundle.json', (bundle) => {
      delete bundle.texts;
      delete bundle.signedAt;
    });
    const other = altered(older, 'README.txt', (text) => `${text}As it was before.\n`);
    const { exit, text } = await run([...pinned, folderOf(other)]);
    assert.equal(exit, 0, text);
    assert.match(text, /proven +summary\.html is what the events make/);
    assert.match(text, /open +README\.txt: for readers, from before it could be made again/);
    assert.match(text, /^SOUND \(\d+ events, [\d.]+ s\), but README\.txt is not compared$/m);
    const alone = exportIn(folder, 'alone', exportOf(events, signer, 1, all, { kind: 'csv' }));
    assert.match(
      await verdictOf(...pinned, alone),
      /^0 SOUND \(.*\), but what events\.csv says of data, reasons and changes is not proven$/,
    );
    assert.match(await verdictOf(...pinned, '--csv', pathOf('x'), alone), /^2 UNDECIDED: there is no NDJSON/);
    const filters = { collection: 'posts' };
    const some = exportIn(folder, 'some', exportOf(events, signer, 1, all, { kind: 'cloudevents', filters }));
    assert.match(
      await verdictOf(...pinned, some),
      /^0 SOUND .*, but nothing in events\.cloudevents\.ndjson is proven$/,
    );
    const { but } = JSON.parse((await run([...pinned, '--json', some])).text);
    assert.deepEqual(but, ['nothing in events.cloudevents.ndjson is proven']);
  });

  it('does not need what was taken out of a pack, because it can be made again', async () => {
    const { 'README.txt': _, 'summary.html': __, 'annals-verify.mjs': ___, ...files } = await pack();
    assert.match(await verdictOf(...pinned, folderOf(files)), /^0 SOUND \(\d+ events, [\d.]+ s\)$/);
    const newer = restated(files, 'bundle.json', (bundle) => {
      bundle.texts = 2;
    });
    assert.match(await verdictOf(...pinned, folderOf(newer)), /^0 SOUND/);
  });
});

async function verdictIn(zip: Buffer): Promise<string> {
  const path = pathOf('archive.zip');
  writeFileSync(path, zip);
  return verdictOf(...pinned, path);
}

/** Texts that a page, a spreadsheet or JSON could take for something else. */
const nasty = fc.string({
  unit: fc.constantFrom(
    ...[
      '=',
      '+',
      '-',
      '@',
      '\t',
      '\r',
      '\n',
      '\r\n',
      '"',
      "'",
      ',',
      ';',
      ' ',
      'a',
      '1',
      '&',
      '<b>',
      '</td>',
      '\\',
      '\u0000',
    ],
    ...[
      '＝',
      '﹣',
      '−',
      '⁺',
      '\u00a0',
      '\u00ad',
      '\u200b',
      '\u202e',
      '\u2028',
      '\ufeff',
      '\u0301',
      '“',
      '»',
      '🌍',
      '\ud800',
      '\udc00',
    ],
  ),
  maxLength: 8,
});
const name = fc.oneof(
  nasty,
  fc.constantFrom('title', 'body', '__proto__', 'constructor', 'createdAt', 'updatedAt', '1'),
);
const value = fc.oneof(
  nasty,
  fc.jsonValue({ maxDepth: 2 }),
  fc.constant('é'.repeat(2001)),
  fc.constant(['x'.repeat(2500)]),
);
/** An object as JSON makes it, in which any name is a member like others. */
const members = fc.array(fc.tuple(name, value), { maxLength: 4 }).map((pairs) => {
  return JSON.parse(`{${pairs.map(([key, one]) => `${JSON.stringify(key)}:${JSON.stringify(one)}`).join()}}`);
});
const context = fc.record({ reason: nasty, ip: fc.constant('::1') }, { requiredKeys: [] });
const said: Partial<Record<EventType, fc.Arbitrary<Thing>>> = {
  'document.created': members,
  'document.updated': fc.record({ set: members, unset: fc.array(name, { maxLength: 2 }) }, { requiredKeys: ['set'] }),
  'document.deleted': fc.constant({}),
  'document.restored': fc.record({ document: members }),
};
const recorded = fc.constantFrom(...(Object.keys(said) as EventType[])).chain((type) => {
  return fc.record({ type: fc.constant(type), data: said[type] as fc.Arbitrary<Thing>, context });
});

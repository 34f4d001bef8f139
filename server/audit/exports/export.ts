import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { EventText } from '../../../events/log/event-checks.ts';
import { eventsBetween } from '../../documents/past/reading.ts';
import { readAsset } from '../../platform/carried.ts';
import { version } from '../../platform/version.ts';
import { eventsThatFit, type Range } from './filters.ts';
import { type ExportFormat, writers } from './formats.ts';
import { consistencyOf, type Proven, proverOf, subtreesOf } from './proofs.ts';
import { exportReadme, textsVersion } from './readme.ts';
import { correctionsWithin, noteErased, type Sees, type ShownEvent, showEvent, shownJson } from './shown.ts';
import { type ZipEntry, zipOf } from './zip.ts';

/** An export of a range; the checkpoint is of a tree that holds all of it. */
type Export = Proven &
  Range & {
    format: ExportFormat;
    /** null: no payloads. */
    seesPayloadsOf: Sees | null;
    madeAt: Date;
  };

/**
 * The files of an export as a ZIP stream (docs/log-format.md); the log is read as the stream is. Proofs are about
 * NDJSON alone, so it goes along with another format, which a verifier makes from it again.
 */
export async function exportZip(exported: Export): Promise<Readable> {
  const { log, checkpoint, verifierKey, earlier, stamped, handovers, format, from, to } = exported;
  const { filters, seesPayloadsOf, madeAt } = exported;
  const { log: origin } = log.head();
  const isWhole = Object.keys(filters).length === 0;
  const prove = proverOf(log, checkpoint.size);
  const erased = noteErased();
  // Written last: a payload erased since the other one was written is missing here, and ends the archive.
  const source = countedFile(exported, 'ndjson', (event) => {
    erased.note(event);
    return isWhole ? null : prove(event.header.position);
  });
  const file = format === 'ndjson' ? source : countedFile(exported, format, () => null);

  async function* manifest(): AsyncGenerator<string> {
    const proven = (event: EventText) => {
      const shown = showEvent(event, seesPayloadsOf);
      return JSON.parse(shownJson(shown, prove(shown.header.position)));
    };
    const declarations = erased.declarations(log, checkpoint.size).map(proven);
    // One that comes after the range says of all of it that its times may be wrong.
    const corrections = correctionsWithin(log, from, checkpoint.size).map(proven);
    const value = {
      format: 'annals-export/1',
      origin,
      verifierKey,
      checkpoint: checkpoint.note,
      texts: textsVersion,
      kind: format,
      ...file.sum(),
      ...(file !== source && { source: source.sum() }),
      from,
      to,
      events: source.events(),
      filters,
      withPayloads: seesPayloadsOf !== null,
      ...(isWhole && {
        before: subtreesOf(log, from - 1),
        consistency: consistencyOf(log, to, checkpoint.size),
      }),
      erasures: declarations,
      ...(corrections.length > 0 && { corrections }),
      earlier,
      ...(stamped.length > 0 && { stamped }),
      ...(handovers.length > 0 && { handovers }),
      software: `annals ${version()}`,
      madeAt: madeAt.toISOString(),
    };
    yield `${JSON.stringify(value, null, 2)}\n`;
  }

  const readme = exportReadme({ origin, from, to, filters, withPayloads: seesPayloadsOf !== null, madeAt });
  const entries = [
    { name: 'README.txt', content: readme },
    { name: 'annals-verify.mjs', content: await readAsset('verify/annals-verify.mjs') },
    ...new Set([file.entry, source.entry]),
    { name: 'manifest.json', content: manifest },
  ];
  return zipOf(entries, madeAt);
}

/** A file of events; its counts and sums are known once all of it was read, and asked for once. */
type CountedFile = {
  entry: ZipEntry;
  events: () => number;
  sum: () => { file: string; bytes: number; sha256: string };
};

/**
 * The events of an export in a format. @param take is shown each event, and gives the proof that goes along with it.
 */
function countedFile(
  { log, from, to, filters, seesPayloadsOf }: Export,
  format: ExportFormat,
  take: (event: ShownEvent) => string[] | null,
): CountedFile {
  const { file, head, line } = writers[format];
  const isWhole = Object.keys(filters).length === 0;
  const digest = createHash('sha256');
  let events = 0;
  let bytes = 0;

  async function* content(): AsyncGenerator<Buffer> {
    if (head !== '') yield count(head);
    const chunks = isWhole ? eventsBetween(log, from, to) : eventsThatFit(log, { from, to, filters });
    for await (const chunk of chunks) {
      const texts = chunk.map((event) => {
        const shown = showEvent(event, seesPayloadsOf);
        return line(shown, take(shown));
      });
      events += chunk.length;
      yield count(texts.join(''));
    }
  }

  function count(text: string): Buffer {
    const encoded = Buffer.from(text);
    digest.update(encoded);
    bytes += encoded.length;
    return encoded;
  }

  return {
    entry: { name: file, content },
    events: () => events,
    sum: () => ({ file, bytes, sha256: digest.digest('hex') }),
  };
}

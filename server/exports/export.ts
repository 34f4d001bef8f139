import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { EventText, LogReader } from '../../events/log-reader.ts';
import type { LogCheckpoint } from '../notary/notary.ts';
import { eventsBetween } from '../past/reading.ts';
import { version } from '../version.ts';
import { eventsThatFit, type Filters } from './filters.ts';
import { type ExportFormat, writers } from './formats.ts';
import { consistencyOf, type Earlier, proverOf, subtreesOf } from './proofs.ts';
import { exportReadme } from './readme.ts';
import { correctionsWithin, noteErased, type Sees, showEvent, shownJson } from './shown.ts';
import { readVerifier } from './verifier.ts';
import { zipOf } from './zip.ts';

/** What is exported: the events at positions `from` to `to`, both inclusive, that fit the filters. */
export type Export = {
  log: LogReader;
  /** Of a tree that holds all of the range. */
  checkpoint: LogCheckpoint;
  verifierKey: string;
  earlier: Earlier[];
  format: ExportFormat;
  from: number;
  to: number;
  filters: Filters;
  /** null: no payloads. */
  seesPayloadsOf: Sees | null;
  madeAt: Date;
};

/** The files of an export as a ZIP stream (docs/log-format.md); the log is read as the stream is. */
export async function exportZip(exported: Export): Promise<Readable> {
  const { log, checkpoint, verifierKey, earlier, format, from, to, filters, seesPayloadsOf, madeAt } = exported;
  const { file, head, line, hasProofs } = writers[format];
  const { log: origin } = log.head();
  const isWhole = Object.keys(filters).length === 0;
  const digest = createHash('sha256');
  const prove = proverOf(log, checkpoint.size);
  const erased = noteErased();
  const total = { events: 0, bytes: 0 };

  async function* lines(): AsyncGenerator<Buffer> {
    if (head !== '') yield count(head);
    const chunks = isWhole ? eventsBetween(log, from, to) : eventsThatFit(log, from, to, filters);
    for await (const chunk of chunks) {
      const texts = chunk.map((event) => {
        const shown = showEvent(event, seesPayloadsOf);
        erased.note(shown);
        const proof = isWhole || !hasProofs ? null : prove(shown.header.position);
        return line(shown, proof);
      });
      total.events += chunk.length;
      yield count(texts.join(''));
    }
  }

  function count(text: string): Buffer {
    const bytes = Buffer.from(text);
    digest.update(bytes);
    total.bytes += bytes.length;
    return bytes;
  }

  async function* manifest(): AsyncGenerator<string> {
    const proven = (event: EventText) => {
      const shown = showEvent(event, seesPayloadsOf);
      return JSON.parse(shownJson(shown, prove(shown.header.position)));
    };
    const declarations = erased.declarations(log, checkpoint.size).map(proven);
    const corrections = isWhole ? [] : correctionsWithin(log, from, to).map(proven);
    const value = {
      format: 'annals-export/1',
      origin,
      verifierKey,
      checkpoint: checkpoint.note,
      file,
      kind: format,
      from,
      to,
      events: total.events,
      bytes: total.bytes,
      sha256: digest.digest('hex'),
      filters,
      withPayloads: seesPayloadsOf !== null,
      ...(isWhole && {
        before: subtreesOf(log, from - 1),
        consistency: consistencyOf(log, to, checkpoint.size),
      }),
      erasures: declarations,
      ...(corrections.length > 0 && { corrections }),
      earlier,
      software: `annals ${version()}`,
      madeAt: madeAt.toISOString(),
    };
    yield `${JSON.stringify(value, null, 2)}\n`;
  }

  const about = { origin, format, file, from, to, filters, withPayloads: seesPayloadsOf !== null, madeAt };
  const entries = [
    { name: 'README.txt', content: exportReadme(about) },
    { name: 'annals-verify.mjs', content: await readVerifier() },
    { name: file, content: lines },
    { name: 'manifest.json', content: manifest },
  ];
  return zipOf(entries, madeAt);
}

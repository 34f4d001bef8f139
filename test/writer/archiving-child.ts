import { checkConfig } from '../../config/check.ts';
import { readLog } from '../../events/log/log-reader.ts';
import { newClockCell } from '../../events/store/clock.ts';
import { createRowMarks } from '../../projections/tables/row-marks.ts';
import { createMeter } from '../../server/platform/meter.ts';
import { createState } from '../../server/platform/state.ts';
import { connectWriter } from '../../server/writer/append.ts';
import { openArchiving } from '../../server/writer/archiving.ts';
import { startWriter } from '../../server/writer/writer.ts';
import { withDatabase } from '../../storage/sqlite.ts';
import { command, noon, seals } from '../events/logs.ts';

// Writes, archives and erases as a service does, until it is killed. Prints what was answered: `at N`, `erased STREAM`,
// `clean POSITION`.
const [directory = ''] = process.argv.slice(2);
const blobs = { kind: 'folder', folder: directory } as const;
const sizes = { events: 25, hot: 10 };
const { schema, rules } = checkConfig({ collections: [{ slug: 'posts', fields: [{ name: 'title', type: 'text' }] }] });
const writer = startWriter(
  {
    directory,
    schema,
    rules,
    marks: createRowMarks(),
    counter: new BigInt64Array(new SharedArrayBuffer(8)),
    clockCell: newClockCell(),
    logId: 'annals/test',
    signed: [],
    seals,
    meter: createMeter(),
    state: createState(),
    acceptsClock: false,
    isStrict: false,
    acceptsLoss: false,
    segmentSizes: sizes,
    noBackup: false,
    blobs,
  },
  { progress: () => {}, onChanges: () => {}, onSealed: () => {}, onSegmentDue: () => archiving.archive() },
  (error) => {
    process.stdout.write(`died ${error.message}\n`);
    process.exit(1);
  },
);
const quiet = { error: console.error, warn: console.error } as never;
const file = `${directory}/log.db`;
const archiving = openArchiving({ file, sizes, blobs, keep: writer.keepSegment, log: quiet });
const { size } = await writer.ready;
const { append } = connectWriter(writer.connect());
const at = new Date(noon).toISOString();
for (let count = size; ; count += 1) {
  const id = `${count}`;
  const data = { id, createdAt: at, updatedAt: at, title: `Mark-${id}-${'x'.repeat((count % 7) * 3000)}` };
  const made = await append(command(`posts/${id}`, 0, { events: [{ type: 'document.created', data }] }));
  if (made.ok) process.stdout.write(`at ${made.position} ${id}\n`);
  if (count % 20 !== 19) continue;
  const stream = `posts/${Math.max(0, count - 11 * (count % 9))}`;
  const versions = withDatabase(file, { readonly: true }, (db) => readLog(db).versionOf(stream));
  if (versions !== 1) continue;
  const erased = { type: 'document.erased' as const, data: { streams: [{ stream, versions }] } };
  const outcome = await append(command(stream, versions, { events: [erased], erases: [stream] }));
  if (!outcome.ok) continue;
  process.stdout.write(`erased ${stream}\n`);
  const release = await archiving.rewriteSegments();
  const { isClean } = await writer.scrub([], () => {}).finally(release);
  if (isClean) process.stdout.write(`clean ${stream}\n`);
}

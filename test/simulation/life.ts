import { checkConfig } from '../../config/check.ts';
import { categoryOf, dataFields } from '../../config/schema.ts';
import { uniqueFields } from '../../events/facts/claims.ts';
import type { PendingSegment } from '../../events/segments/segment-writer.ts';
import type { Ids } from '../../events/store/ids.ts';
import type { BootResult } from '../../projections/start/boot.ts';
import { payloadsIn } from '../helpers/leftovers.ts';
import type { Disk } from './disk.ts';
import { DiskError, noFaults } from './disk-state.ts';
import { closeFiles } from './fs.ts';
import { mount } from './mounted.ts';
import { below, oneOf } from './power-cut.ts';
import * as product from './product.ts';
import { closeDatabases, SqliteError } from './sqlite.ts';
import { BrokenPromise, type Story } from './story.ts';

const { schema, rules } = checkConfig({
  collections: [
    {
      slug: 'notes',
      fields: [
        { name: 'title', type: 'text', unique: true },
        { name: 'text', type: 'textarea' },
      ],
    },
  ],
});
const [collection] = schema.collections;
if (!collection) throw new Error('the collection of the simulation is missing');
const category = categoryOf(collection);
export const target = { category, unique: uniqueFields(category, dataFields(collection.fields)) };

/** Thrown when a process ends: the power was cut, or an error left no state to trust. */
export class Ended extends Error {
  override name = 'Ended';
}

/** The world of a run. */
export type World = {
  disk: Disk;
  story: Story;
  random: () => number;
  now: () => number;
  ids: Ids;
  seals: Parameters<typeof product.boot>[0]['seals'];
};

/** A process that has the data directory open, as the writer thread has it. */
export type Life = BootResult & { directory: string; scrubber: ReturnType<typeof product.openScrubber> };

/** Starts a process. */
export function start({ disk, now, ids, seals }: World): Life {
  const directory = mount(disk);
  const booted = product.boot({ directory, logId: 'annals/simulated', schema, rules, seals, ids, now });
  const { databases, log } = booted;
  return { ...booted, directory, scrubber: product.openScrubber({ directory, databases, log }) };
}

/** Ends a process without a word: the system keeps the bytes that it has written. */
export function kill({ disk }: World): void {
  disk.switchOff();
  closeDatabases();
  closeFiles();
  disk.switchOn();
}

/** Ends a process by a power cut. @param chance decides which bytes without a sync the disk keeps. */
export function cutPower(world: World, chance?: () => number): void {
  kill(world);
  world.disk.powerCut(chance);
}

/** @throws BrokenPromise if the files do not agree with the story. */
export function check({ disk, story }: World, life: Life): void {
  disk.setFaults(noFaults);
  const { log, databases } = life;
  story.compare(log.texts(0, log.head().size));
  const finding = product.verifyLog(databases[0], () => {});
  if (finding !== null) throw new BrokenPromise(`verify: ${finding}`);
  const tables = product.tablesOf(life.schema).find(({ key }) => key === category);
  if (!tables) throw new BrokenPromise('there is no table of the documents');
  product.registerFunctions(databases[1]);
  const documents = product.openDocuments(databases[1], tables);
  for (const { id, version, document } of story.documents) {
    const found = documents.current(id);
    const isSame = document === null ? found === null : found?.version === version && isLike(found.document, document);
    if (!isSame) throw new BrokenPromise(`the read tables have another ${id}`);
  }
  for (const { position, isDone } of story.erased) {
    const erasure = log.erasures.at(position);
    if (!erasure || (isDone && !erasure.isDone))
      throw new BrokenPromise(`the erasure of event ${position} is not done`);
  }
  checkRemains(disk, story);
}

function isLike(found: object, told: object): boolean {
  return Object.entries(told).every(([name, value]) => (found as Record<string, unknown>)[name] === value);
}

/** @throws BrokenPromise if a file holds a text that was reported as erased. */
function checkRemains(disk: Disk, { erased }: Story): void {
  const gone = erased.filter(({ isDone }) => isDone).map(({ mark }) => mark);
  if (gone.length === 0) return;
  for (const { path, bytes } of disk.files()) {
    const content = (/\.(seg|tmp)$/.test(path) ? readable(bytes) : bytes).toString('latin1');
    const mark = gone.find((one) => content.includes(one));
    if (mark !== undefined) throw new BrokenPromise(`${path} has ${mark}, which was erased`);
  }
}

/** A pending segment need not be whole. */
function readable(bytes: Buffer): Buffer {
  try {
    return payloadsIn(bytes);
  } catch {
    return bytes;
  }
}

/**
 * Does something as the writer thread does. @throws Ended if the thread would end; BrokenPromise for an error without a
 * cause.
 */
function tolerant({ disk }: World, run: () => void, otherwise: () => void = () => {}): void {
  const { errors } = disk.made;
  try {
    run();
  } catch (error) {
    if (error instanceof BrokenPromise) throw error;
    if (disk.isOff()) throw new Ended('the power is cut', { cause: error });
    if (disk.made.errors === errors || !isOfDisk(error)) throw unforeseen(error);
    if (!passes(error)) throw new Ended('the disk failed', { cause: error });
    otherwise();
  }
}

export function unforeseen(error: unknown): BrokenPromise {
  return new BrokenPromise(`unforeseen: ${error instanceof Error ? error.stack : error}`, { cause: error });
}

/** Whether an error is one that the disk has made. */
export function isOfDisk(error: unknown): boolean {
  if (error instanceof DiskError) return true;
  return error instanceof SqliteError && /^SQLITE_(IOERR|FULL|CANTOPEN)/.test(error.code);
}

/** Whether an error is a refusal, as `refusalsOf` of the writer thread decides. */
function passes(error: unknown): boolean {
  return product.isDiskFull(error) || (error instanceof SqliteError && error.code.startsWith('SQLITE_CANTOPEN'));
}

/** One step of the work of a process. */
export function step(world: World, life: Life): void {
  const dice = world.random();
  if (dice < 0.62) append(world, life, false);
  else if (dice < 0.7) append(world, life, true);
  else if (dice < 0.78) archive(world, life, 'archive');
  else if (dice < 0.84) archive(world, life, 'rewrite');
  else if (dice < 0.89) tolerant(world, () => void life.log.segments.shed(1 + below(world.random, 8)));
  else if (dice < 0.92)
    tolerant(world, () => void product.giveBackPages(life.databases[0], 1 + below(world.random, 8), 0));
  else if (dice < 0.95) tolerant(world, () => void life.databases[0].pragma('wal_checkpoint(PASSIVE)'));
  else scrub(world, life);
}

/** Appends a batch, and brings the read tables up to date. */
export function append(world: World, { log, projector }: Life, isErasure: boolean): void {
  const { story } = world;
  const isBehind = () => (projector.checkpoint()?.position ?? 0) < log.head().size;
  let isReady = false;
  tolerant(world, () => {
    if (isBehind()) product.catchUp(projector, { log });
    isReady = true;
  });
  if (!isReady) return;
  const before = log.head().size;
  let recorded: Parameters<typeof projector.apply>[0] = [];
  tolerant(
    world,
    () => {
      const result = log.append(story.plan(target, isErasure));
      recorded = result.recorded;
      story.answered(
        result.outcomes,
        calmly(world, () => log.texts(before, log.head().size)),
      );
    },
    () => {
      if (log.head().size !== before) throw new BrokenPromise('a batch failed, and the log is longer');
      story.refused();
    },
  );
  tolerant(world, () => projector.apply(recorded, log.head().root));
}

/** Looks without the faults of the disk. */
function calmly<T>({ disk }: World, look: () => T): T {
  return disk.calmly(look);
}

/** The thread that archives reads the log through a connection of its own. */
function archive(world: World, { log, databases }: Life, what: 'archive' | 'rewrite'): void {
  const { random, disk } = world;
  let pending: PendingSegment | null = null;
  const sizes = { events: oneOf(random, [5, 12, 30]), hot: below(random, 6) };
  const isBad = (error: unknown) => error instanceof BrokenPromise || !isOfDisk(error);
  try {
    const db = product.openDatabase(databases[0].name, { readonly: true, cacheMiB: 2 });
    try {
      pending = what === 'archive' ? product.writeSegment(db, sizes) : product.rewriteSegment(db);
    } finally {
      db.close();
    }
  } catch (error) {
    // The service reports the error, and tries again later.
    if (disk.isOff()) throw new Ended('the power is cut', { cause: error });
    if (isBad(error)) throw unforeseen(error);
  }
  const made = pending;
  if (!made) return;
  tolerant(world, () => {
    try {
      log.segments.keep(made);
    } catch (error) {
      // An error of the segment's file or folder: the log is as it was.
      if (!(error instanceof DiskError) || disk.isOff()) throw error;
    }
  });
}

/** Cleans all files. Once it reports that they are clean, nothing erased is left. */
export function scrub(world: World, { scrubber }: Life): void {
  tolerant(world, () => {
    const { isClean } = scrubber.scrub([]);
    if (isClean) for (const erasure of world.story.erased) erasure.isDone = true;
  });
}

import assert from 'node:assert/strict';
import { basename } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { createRandom } from '../../bench/content.ts';
import { noFaults } from './disk-state.ts';
import { append, check, cutPower, Ended, kill, type Life, scrub, start, type World } from './life.ts';
import * as product from './product.ts';
import { openWorld } from './run.ts';

/** A disk that keeps no more than it must: each file and folder needs its own sync. */
function strictWorld(t: TestContext): World {
  const world = openWorld(createRandom(7), { isJournal: false, ignoresSync: false });
  t.after(() => kill(world));
  return world;
}

function appendMany(world: World, life: Life, count: number): void {
  for (let left = count; left > 0; left -= 1) append(world, life, false);
}

function archive(life: Life): void {
  const pending = product.writeSegment(life.databases[0], { events: 5, hot: 0 });
  assert.ok(pending && life.log.segments.keep(pending));
  while (life.log.segments.shed(5));
}

function scrubAll(world: World, life: Life): void {
  scrub(world, life);
  assert.deepEqual(
    world.story.erased.map(({ isDone }) => isDone),
    [true],
  );
}

/** @returns a process that has found all that it has to. */
function startSound(world: World): Life {
  const life = start(world);
  check(world, life);
  return life;
}

/** Cuts the power: only synced bytes are left. @returns the next process. */
function cutAndStart(world: World): Life {
  cutPower(world, () => 0);
  return startSound(world);
}

describe('After a power cut on a disk that keeps no more than it has to', () => {
  it('nothing is missing that was acknowledged', (t) => {
    const world = strictWorld(t);
    appendMany(world, startSound(world), 2);
    assert.ok(cutAndStart(world).log.head().size >= 2);
  });

  it('the first segment is there, with its folder', (t) => {
    const world = strictWorld(t);
    const life = startSound(world);
    appendMany(world, life, 8);
    archive(life);
    assert.ok(cutAndStart(world).log.head().size >= 8);
  });

  it('no write-ahead log brings back what was erased', (t) => {
    const world = strictWorld(t);
    const life = startSound(world);
    appendMany(world, life, 4);
    append(world, life, true);
    scrubAll(world, life);
    cutAndStart(world);
  });

  it('no file that was removed brings back what was erased', (t) => {
    const world = strictWorld(t);
    const life = startSound(world);
    appendMany(world, life, 4);
    append(world, life, true);
    // A search file of another schema, which is removed when all else is clean.
    const path = '/search-0123456789abcdef.db';
    const file = world.disk.open(path, 'new');
    const mark = world.story.erased[0]?.mark ?? assert.fail();
    world.disk.write(file, path, Buffer.from(mark), 0);
    world.disk.sync(file, path);
    world.disk.syncFolder('/');
    scrubAll(world, life);
    // Before the next start, which would remove it again.
    cutPower(world, () => 0);
    for (const { path: left, bytes } of world.disk.files()) assert.ok(!bytes.includes(mark), left);
    startSound(world);
  });

  it('a failed sync of cleaned pages brings back nothing that was erased', (t) => {
    const world = strictWorld(t);
    const first = startSound(world);
    appendMany(world, first, 4);
    append(world, first, true);
    first.databases[0].pragma('wal_checkpoint(TRUNCATE)');
    // A full disk does not last.
    world.disk.setFaults({ cutAt: null, chance: { sync: 1 }, code: 'ENOSPC', only: '/log.db', failedSync: 'never' });
    scrub(world, first);
    assert.ok(world.disk.made.errors > 0);
    world.disk.setFaults(noFaults);
    scrubAll(world, first);
    cutAndStart(world);
  });

  it('a failed sync of the folder of segments brings back nothing that was erased', (t) => {
    const world = strictWorld(t);
    const life = startSound(world);
    appendMany(world, life, 8);
    archive(life);
    append(world, life, true);
    while (life.log.segments.hasRemovals()) life.log.segments.rewriteNow();
    world.disk.setFaults({ cutAt: null, chance: { syncFolder: 1 }, only: '/segments' });
    scrub(world, life);
    assert.ok(world.disk.made.errors > 0);
    world.disk.setFaults(noFaults);
    scrubAll(world, life);
    cutAndStart(world);
  });

  it('nothing that was erased is said to be gone while the read tables still have it', (t) => {
    const world = strictWorld(t);
    const life = startSound(world);
    appendMany(world, life, 4);
    const readWal = `/${basename(life.databases[1].name)}-wal`;
    world.disk.setFaults({ cutAt: null, chance: { write: 1 }, code: 'ENOSPC', only: readWal });
    append(world, life, true);
    assert.ok(world.disk.made.errors > 0);
    world.disk.setFaults(noFaults);
    scrub(world, life);
    assert.deepEqual(
      world.story.erased.map(({ isDone }) => isDone),
      [false],
    );
    append(world, life, false);
    scrubAll(world, life);
    cutAndStart(world);
  });

  it('nothing is missing that was acknowledged after a start that followed a failed sync', (t) => {
    const world = strictWorld(t);
    const first = startSound(world);
    appendMany(world, first, 3);
    world.disk.setFaults({ cutAt: null, chance: { sync: 1 }, code: 'EIO', failedSync: 'never' });
    assert.throws(() => append(world, first, false), Ended);
    world.disk.setFaults(noFaults);
    kill(world);
    const second = startSound(world);
    appendMany(world, second, 3);
    assert.ok(cutAndStart(world).log.head().size >= 6);
  });

  it('the write-ahead log has its name, or the process did not start', (t) => {
    const world = strictWorld(t);
    const first = startSound(world);
    appendMany(world, first, 2);
    first.close();
    kill(world);
    world.disk.setFaults({ cutAt: null, chance: { syncFolder: 1 }, only: '/' });
    assert.throws(() => start(world), { syscall: 'syncFolder' });
    world.disk.setFaults(noFaults);
    kill(world);
    appendMany(world, startSound(world), 2);
    cutAndStart(world);
  });
});

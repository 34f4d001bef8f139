import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';

/** A small disk, soon full: its folder, which is removed after the tests, or the reason why there is no such disk. */
export type SmallDisk = { folder: string; skip: false } | { folder: ''; skip: string };

/** Mounts a disk in memory for the tests of a file, if the system allows this: on Linux as root. */
export function useSmallDisk(bytes: number): SmallDisk {
  const folder = mkdtempSync(join(tmpdir(), 'annals-disk-'));
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', folder]);
  const isMounted = mounted.status === 0;
  after(() => {
    if (isMounted) spawnSync('umount', ['--lazy', folder]);
    rmdirSync(folder);
  });
  return isMounted
    ? { folder, skip: false }
    : { folder: '', skip: 'a small disk can be mounted by root on Linux only' };
}

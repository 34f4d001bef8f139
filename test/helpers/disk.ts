import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';

/** A disk that is soon full: its folder, gone after the tests, or the reason for the lack of one. */
export type SmallDisk = { folder: string; skip: false } | { folder: ''; skip: string };

/** Mounts a disk in memory for the tests of a file, where this is allowed: on Linux as root. */
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

import { closeSync, fsyncSync, lstatSync, openSync, readdirSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { inBytes } from '../../config/counted.ts';
import { freeBytes } from '../../storage/disk.ts';
import { codeOf } from '../../storage/errors.ts';
import { privateFile } from '../../storage/private.ts';
import { type DoctorFinding, note, ok, trouble } from './findings.ts';

/** Checks of the disk below a data directory. */
export function checkDisk(directory: string): DoctorFinding[] {
  return [
    checkRoom(directory),
    checkSync(directory),
    checkFileSystem(directory),
    checkModes(directory),
    checkOpenFiles(),
  ];
}

/** Erasing rewrites a data file beside itself, and SQLite's VACUUM needs as much again for the write-ahead log. */
const copies = 2;

function checkRoom(directory: string): DoctorFinding {
  const sizes = readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.db'))
    .map(({ name }) => ({ name, size: lstatSync(join(directory, name)).size }));
  const largest = sizes.reduce((most, one) => (one.size > most.size ? one : most), { name: 'log.db', size: 0 });
  const free = freeBytes(directory);
  const told = `${inBytes(free)} free, and the largest data file, ${largest.name}, has ${inBytes(largest.size)}`;
  return free >= copies * largest.size
    ? ok('disk room', told)
    : trouble('disk room', `${told}: erasing and rebuilding need ${copies} times as much`);
}

const syncs = 100;
/** As much as a small write changes. */
const block = Buffer.alloc(4096, 1);
/** Every write waits for one: beyond this, fewer than twenty batches are recorded in a second. */
const slowMilliseconds = 50;
/** Beyond this one has not been on any disk. */
const fastMilliseconds = 0.005;

function checkSync(directory: string): DoctorFinding {
  const path = join(directory, `doctor-${process.pid}.probe`);
  try {
    const times = timeSyncs(path);
    const p99 = times[Math.ceil(times.length * 0.99) - 1] ?? 0;
    const told = `an fsync takes ${(times[times.length >> 1] ?? 0).toFixed(2)} ms, 99 of 100 at most ${p99.toFixed(2)} ms`;
    if (p99 > slowMilliseconds) return trouble('fsync', `${told}: every write waits for one`);
    if (p99 < fastMilliseconds) return note('fsync', `${told}: this disk may lose writes in a power cut`);
    return ok('fsync', told);
  } catch (error) {
    return trouble('fsync', `no file can be written to ${directory} (${codeOf(error) ?? 'unknown error'})`);
  } finally {
    rmSync(path, { force: true });
  }
}

/** Milliseconds of each, ascending. */
function timeSyncs(path: string): number[] {
  const file = openSync(path, 'wx', privateFile);
  try {
    return Array.from({ length: syncs }, () => {
      writeSync(file, block);
      const begun = performance.now();
      fsyncSync(file);
      return performance.now() - begun;
    }).sort((a, b) => a - b);
  } finally {
    closeSync(file);
  }
}

/** Network file systems, whose locks and syncs differ from those of a local disk, by their names in `/proc/mounts`. */
const remote =
  /^(nfs|nfs4|cifs|smb3?|smbfs|9p|ceph|glusterfs|fuse\.(sshfs|s3fs|gcsfuse|rclone|glusterfs|gvfsd-fuse)|afs|lustre|ncpfs)$/;
const inMemory = /^(tmpfs|ramfs)$/;

function checkFileSystem(directory: string): DoctorFinding {
  const type = mountOf(directory, readMounts());
  if (type === null) return note('file system', 'the type of the file system is known on Linux only');
  if (remote.test(type))
    return trouble(
      'file system',
      `the data directory is on ${type}, a network file system: SQLite needs the locks of a local disk`,
    );
  if (inMemory.test(type))
    return trouble('file system', `the data directory is on ${type}, in memory: a reboot loses it`);
  if (type === 'overlay')
    return note(
      'file system',
      'the data directory is in the layer of a container, and is lost with it: mount a volume',
    );
  return ok('file system', `the data directory is on ${type}`);
}

function readMounts(): string {
  try {
    return readFileSync('/proc/self/mountinfo', 'utf8');
  } catch {
    return '';
  }
}

/**
 * The type of the file system that a folder is on, by the text of `/proc/self/mountinfo` (proc(5)); null if the text
 * does not say. The last mount at a path hides the others.
 */
export function mountOf(folder: string, mounts: string): string | null {
  const holding = mounts.split('\n').flatMap((line) => {
    const [front = '', back = ''] = line.split(' - ');
    const place = (front.split(' ')[4] ?? '').replace(/\\([0-7]{3})/g, (_, code) =>
      String.fromCharCode(Number.parseInt(code, 8)),
    );
    const [type = ''] = back.split(' ');
    const isAbove = place !== '' && (folder === place || folder.startsWith(place.endsWith('/') ? place : `${place}/`));
    return isAbove ? [{ place, type }] : [];
  });
  const nearest = holding.reduce((best, one) => (one.place.length >= best.place.length ? one : best), {
    place: '',
    type: '',
  });
  return nearest.type === '' ? null : nearest.type;
}

const forOthers = 0o077;

function checkModes(directory: string): DoctorFinding {
  if (process.platform === 'win32') return note('file modes', 'Windows has no such modes');
  const paths = [directory, ...readdirSync(directory).map((name) => join(directory, name))];
  const open = paths.filter((path) => {
    const stats = lstatSync(path, { throwIfNoEntry: false });
    return stats && !stats.isSymbolicLink() && (stats.mode & forOthers) !== 0;
  });
  if (open.length === 0) return ok('file modes', 'the data directory is for its owner alone');
  return trouble('file modes', `other users may reach ${open.join(', ')}: chmod go= them`);
}

/** Each connection takes one, and each thread some ten. */
const fewFiles = 4096;

function checkOpenFiles(): DoctorFinding {
  const limits = readLimits();
  const limit = /^Max open files\s+(\S+)/m.exec(limits)?.[1];
  if (limit === undefined) return note('open files', 'the limit of open files is known on Linux only');
  const told = `this process may have ${limit} files and connections open`;
  if (limit !== 'unlimited' && Number(limit) < fewFiles)
    return trouble('open files', `${told}: fewer than ${fewFiles} are soon used up (ulimit -n, LimitNOFILE=)`);
  return ok('open files', told);
}

function readLimits(): string {
  try {
    return readFileSync('/proc/self/limits', 'utf8');
  } catch {
    return '';
  }
}

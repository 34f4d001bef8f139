import type { Disk } from './disk.ts';

/**
 * The folder that the disk is seen in. Each start sees it in another one, so that no start finds what another has kept
 * in memory.
 */
type Mounted = { disk: Disk; folder: string };

let mounted: Mounted | null = null;
let count = 0;

/** Mounts a disk for the product. @returns the path of its root. */
export function mount(disk: Disk): string {
  count += 1;
  // The path of each disk has the same length.
  const folder = `/simulated-${String(count).padStart(9, '0')}`;
  mounted = { disk, folder };
  return folder;
}

/** The disk, and what a path is called on it; null for one of another place. */
export function placeOf(path: string): { disk: Disk; path: string } | null {
  if (!mounted || !path.startsWith('/simulated-')) return null;
  const { disk, folder } = mounted;
  if (!path.startsWith(folder)) throw new Error(`${path} is on a disk that is no longer there`);
  return { disk, path: path.slice(folder.length) || '/' };
}

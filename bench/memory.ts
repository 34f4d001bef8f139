import { readFileSync, writeFileSync } from 'node:fs';
import type { Server } from './processes.ts';

/** MB that a process holds now, or held at most since the last {@link resetPeak} (proc(5), `status`). */
export function megabytes({ pid }: Server, name: 'VmRSS' | 'VmHWM'): number {
  const found = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return (Number(found) * 1024) / 1e6;
}

/** Begins to look for the most anew. */
export function resetPeak({ pid }: Server): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}

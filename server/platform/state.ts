/**
 * `starting` until the first load is over; `full` while writes are refused because the disk is full, and reads are served; `behind`
 * while a node does not see what other nodes append; `draining` while requests are answered that should go elsewhere.
 */
export type State = Phase | 'full' | 'behind';

/** A state that the main thread sets. */
export type Phase = 'starting' | 'ready' | 'draining' | 'stopping';

const phases: readonly Phase[] = ['starting', 'ready', 'draining', 'stopping'];

/** The state of the service as all threads see it at once: the phase, whether the disk is full, and whether a node is behind. */
export type StateCell = Int32Array<SharedArrayBuffer>;

/** The state of a service that starts. */
export function createState(): StateCell {
  return new Int32Array(new SharedArrayBuffer(3 * Int32Array.BYTES_PER_ELEMENT));
}

/** Reads the cell. */
export function stateIn(cell: StateCell): State {
  const phase = phases[Atomics.load(cell, 0)] as Phase;
  if (phase !== 'ready') return phase;
  if (Atomics.load(cell, 2) === 1) return 'behind';
  return isFull(cell) ? 'full' : phase;
}

/** Sets what every thread sees from now on. */
export function setState(cell: StateCell, phase: Phase): void {
  Atomics.store(cell, 0, phases.indexOf(phase));
}

/** Whether the last write found no room on the disk. */
export function isFull(cell: StateCell): boolean {
  return Atomics.load(cell, 1) === 1;
}

/** Sets whether there was room for the last write. */
export function setFull(cell: StateCell, isFull: boolean): void {
  Atomics.store(cell, 1, isFull ? 1 : 0);
}

/** Sets whether this node does not see what other nodes append. */
export function setBehind(cell: StateCell, isBehind: boolean): void {
  Atomics.store(cell, 2, isBehind ? 1 : 0);
}

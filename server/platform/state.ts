/**
 * `starting` until the first load is over; `full` while writes are refused because the disk is full, and reads are
 * served; `behind` while a node does not see what other nodes append; `waiting` while the log has another configuration
 * than a node, `outdated` when it has got one; `draining` while requests are answered that should go elsewhere.
 */
export type State = Phase | 'full' | 'behind' | 'waiting' | 'outdated';

/** A state that the main thread sets. */
export type Phase = 'starting' | 'ready' | 'draining' | 'stopping';

const phases: readonly Phase[] = ['starting', 'ready', 'draining', 'stopping'];

/**
 * How the configuration of a node agrees with that of the log. `waiting`: it is to be applied. The others: another one
 * was applied, or a newer version has written there. `outdated`: reads are answered as of before; `stale`: those
 * without credentials, since accounts have changed; `over`: it has been so for too long, and nothing is answered.
 */
export type Agreement = 'current' | 'waiting' | 'outdated' | 'stale' | 'over';

const agreements: readonly Agreement[] = ['current', 'waiting', 'outdated', 'stale', 'over'];

/**
 * The state of the service as all threads see it at once: the phase, whether the disk is full, whether a node is
 * behind, and how its configuration agrees with that of the log.
 */
export type StateCell = Int32Array<SharedArrayBuffer>;

/** The state of a service that starts. */
export function createState(): StateCell {
  return new Int32Array(new SharedArrayBuffer(4 * Int32Array.BYTES_PER_ELEMENT));
}

/** Reads the cell. */
export function stateIn(cell: StateCell): State {
  const phase = phases[Atomics.load(cell, 0)] as Phase;
  if (phase !== 'ready') return phase;
  const agreement = agreementIn(cell);
  if (agreement !== 'current') return agreement === 'waiting' ? 'waiting' : 'outdated';
  if (Atomics.load(cell, 2) === 1) return 'behind';
  return isFull(cell) ? 'full' : phase;
}

/** Whether clients are to send their next request elsewhere. */
export function endsSoon(state: State): boolean {
  return state === 'draining' || state === 'stopping';
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

/** How the configuration of this node agrees with that of the log. */
export function agreementIn(cell: StateCell): Agreement {
  return agreements[Atomics.load(cell, 3)] as Agreement;
}

/** Sets how the configuration of this node agrees with that of the log. */
export function setAgreement(cell: StateCell, agreement: Agreement): void {
  Atomics.store(cell, 3, agreements.indexOf(agreement));
}

/** Sets whether this node does not see what other nodes append. */
export function setBehind(cell: StateCell, isBehind: boolean): void {
  Atomics.store(cell, 2, isBehind ? 1 : 0);
}

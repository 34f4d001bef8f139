/** The state of the service, as `/ready` shows it. */
export type ServiceState =
  | Phase
  /** Writes are refused because the disk is full; reads are served. */
  | 'full'
  /** A node does not see what other nodes append. */
  | 'behind'
  /** The log has another configuration than this node, whose own waits to be applied. */
  | 'waiting'
  /** The log has got another configuration than this node. */
  | 'outdated';

/** A state that the main thread sets. */
export type Phase =
  /** Until the first load is over. */
  | 'starting'
  | 'ready'
  /** Requests are answered that should go elsewhere. */
  | 'draining'
  | 'stopping';

const phases: readonly Phase[] = ['starting', 'ready', 'draining', 'stopping'];

/** How the configuration of a node agrees with the log's. */
export type Agreement =
  | 'current'
  /** The node's configuration is to be applied. */
  | 'waiting'
  /** Another one was applied, or a newer version has written to the log: reads are answered as of before. */
  | 'outdated'
  /** The same, and accounts have changed: only reads without credentials are answered. */
  | 'accounts-changed'
  /** The same for too long: nothing is answered. */
  | 'expired';

const agreements: readonly Agreement[] = ['current', 'waiting', 'outdated', 'accounts-changed', 'expired'];

/**
 * The state of the service, which all threads see at once: the phase, whether the disk is full, whether a node is
 * behind, and how its configuration agrees with the log's.
 */
export type StateCell = Int32Array<SharedArrayBuffer>;

/** The state of a service that starts. */
export function createState(): StateCell {
  return new Int32Array(new SharedArrayBuffer(4 * Int32Array.BYTES_PER_ELEMENT));
}

/** Reads the cell. */
export function stateIn(cell: StateCell): ServiceState {
  const phase = phases[Atomics.load(cell, 0)] as Phase;
  if (phase !== 'ready') return phase;
  const agreement = agreementIn(cell);
  if (agreement !== 'current') return agreement === 'waiting' ? 'waiting' : 'outdated';
  if (Atomics.load(cell, 2) === 1) return 'behind';
  return isFull(cell) ? 'full' : phase;
}

/** Whether clients are to send their next request elsewhere. */
export function endsSoon(state: ServiceState): boolean {
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

/** Reads how the configuration of this node agrees with the log's. */
export function agreementIn(cell: StateCell): Agreement {
  return agreements[Atomics.load(cell, 3)] as Agreement;
}

/** Sets how the configuration of this node agrees with the log's. */
export function setAgreement(cell: StateCell, agreement: Agreement): void {
  Atomics.store(cell, 3, agreements.indexOf(agreement));
}

/** Sets whether this node does not see what other nodes append. */
export function setBehind(cell: StateCell, isBehind: boolean): void {
  Atomics.store(cell, 2, isBehind ? 1 : 0);
}

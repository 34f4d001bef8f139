/** `starting` until the first load is over; `draining` while requests are answered that should go elsewhere. */
export type State = 'starting' | 'ready' | 'draining' | 'stopping';

const states: readonly State[] = ['starting', 'ready', 'draining', 'stopping'];

/** The state of the service, one cell that all threads see at once. */
export function createState(): Int32Array<SharedArrayBuffer> {
  return new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
}

/** Reads the cell. */
export function stateIn(cell: Int32Array<SharedArrayBuffer>): State {
  return states[Atomics.load(cell, 0)] as State;
}

/** Sets what every thread sees from now on. */
export function setState(cell: Int32Array<SharedArrayBuffer>, state: State): void {
  Atomics.store(cell, 0, states.indexOf(state));
}

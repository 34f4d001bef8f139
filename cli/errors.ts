/** Thrown if the service that holds a data directory cannot be called, or does not answer as a service. */
export class CallError extends Error {
  override name = 'CallError';
}

/** Thrown when the user cancels. */
export class Cancelled extends Error {
  override name = 'Cancelled';
}

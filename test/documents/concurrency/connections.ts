import type { CallOptions } from '../../helpers/service.ts';

/** A request on a connection of its own, so that each thread of a service gets its share. */
export const alone = (options: CallOptions = {}): CallOptions => ({
  ...options,
  headers: { connection: 'close', ...options.headers },
});

// The durations of nodes that share a log in PostgreSQL, in milliseconds, as far as they depend on each other.
// test/storage/durations.test.ts has the inequalities between them.

/** A node that has taken the log and does not go on loses it after this time, and so does any open transaction. */
export const holdMilliseconds = 2000;

/**
 * The same for a node that applies a changed schema, and for a move: they send the claims of all documents, or read a
 * page of the log while their transaction is open.
 */
export const longHoldMilliseconds = 60_000;

/** A node that waits for the log looks after these times for a session that hangs with the lock. */
export const hungLookMilliseconds = { first: holdMilliseconds, next: 500 };

/**
 * A write is refused if it could not be shipped within `usual`. One that has waited behind others for longer is tried
 * for `least`.
 */
export const writeMilliseconds = { usual: 4500, least: 300 };

/** The longest time of other calls to PostgreSQL, unless they name another. */
export const callMilliseconds = 5000;

/** PostgreSQL refuses a statement that waits for a lock for longer: later than the node itself gives up. */
export const lockMilliseconds = 5000;

/**
 * A write waits for this time if a part of a table is exchanged while a dump reads it; then the exchange is put off.
 */
export const exchangeMilliseconds = 500;

/** A move holds up the writes of a service for this time: less than after which its writer refuses them. */
export const freezeMilliseconds = 4000;

/**
 * PostgreSQL asks a client that is silent for `idle` whether it is still there, and again after each `interval`. After
 * `count` questions without an answer, or bytes that were not acknowledged for `user`, it ends the session and frees
 * the log.
 */
export const keepAlive = { idle: 2000, interval: 1000, count: 3, user: 5000 };

/**
 * A server that has not accepted a connection for `longest` is given up: another one may take writes by then. With less
 * than `least` left until a deadline no try is made, since it would only hide why the last one failed; `pause` lies
 * between two tries. After a deadline an answer that has come is still read for `grace`.
 */
export const connectMilliseconds = { longest: 2000, least: 250, pause: 50, grace: 20 };

/** A read waits for this time for the events that it has to see. */
export const readMilliseconds = 2000;

/**
 * The pauses between two looks for the events of other nodes: `shortest` until there were none for `afterQuiet`, then
 * longer and longer ones, up to `longest`.
 */
export const followMilliseconds = { shortest: 20, longest: 250, afterQuiet: 1000 };

/** A node that has not come to the end of the log for this time is behind: the balancer sends it no requests. */
export const behindMilliseconds = 10_000;

/**
 * A node reports each `every`. After `absent` without a report it counts as not there, and its name is free for another
 * process. After `forgettable` it may be taken off the list. A start is given up if the first report has not succeeded
 * within `first`.
 */
export const reportMilliseconds = { every: 1000, absent: 5000, forgettable: 60_000, first: 15_000 };

/** The work of a node that stands still for this time, such as mail or cleaning, is done by another node. */
export const leaseMilliseconds = 15_000;

/** The number of renewals of a lease within its time. */
export const leaseLooks = 3;

const minute = 60_000;

/** The pin of a file ends after `lasts` if its node is gone; a node renews its pins each `renew`. */
export const pinMilliseconds = { lasts: 60 * minute, renew: 10 * minute };

// The durations of nodes that share a log in PostgreSQL, in milliseconds, if they depend on each other.
// test/storage/durations.test.ts has the inequalities between them.

/** A node that has taken the log and does not continue loses the log after this time. So does any open transaction. */
export const holdMilliseconds = 2000;

/**
 * The longer limit of a node that applies a changed schema, and of a move: they send the claims of all documents, or
 * read a page of the log, while their transaction is open.
 */
export const longHoldMilliseconds = 60_000;

/** The times after which a node that waits for the log looks for a session that hangs while it holds the lock. */
export const hungLookMilliseconds = { first: holdMilliseconds, next: 500 };

/**
 * A write is refused if it could not be shipped within `usual`. A write that has waited longer behind others is tried
 * for `least`.
 */
export const writeMilliseconds = { usual: 4500, least: 300 };

/** The time limit of other calls to PostgreSQL, unless they name another. */
export const callMilliseconds = 5000;

/** PostgreSQL refuses a statement that waits longer for a lock. The node itself gives up earlier. */
export const lockMilliseconds = 5000;

/**
 * The longest time for which the exchange of a part of a table, while a dump reads it, makes a write wait. Then the
 * exchange is postponed.
 */
export const exchangeMilliseconds = 500;

/**
 * The time for which a move holds up the writes of a service, shorter than the time after which the writer refuses
 * them.
 */
export const freezeMilliseconds = 4000;

/**
 * PostgreSQL probes a client that is silent for `idle`, and again after each `interval`. After `count` probes without
 * an answer, or if bytes are not acknowledged for `user`, it ends the session and releases the log.
 */
export const keepAlive = { idle: 2000, interval: 1000, count: 3, user: 5000 };

/**
 * An attempt to connect to a server is given up after `longest`: another server may take writes by then. With less than
 * `least` left until a deadline there is no further attempt, because it would only hide why the last one failed.
 * `pause` is the time between two attempts. After a deadline, an answer that has arrived is still read within `grace`.
 */
export const connectMilliseconds = { longest: 2000, least: 250, pause: 50, grace: 20 };

/** The longest time for which a read waits for the events that it must see. */
export const readMilliseconds = 2000;

/**
 * The pauses between two queries for the events of other nodes: `shortest` until there were no events for `afterQuiet`,
 * then longer and longer, up to `longest`.
 */
export const followMilliseconds = { shortest: 20, longest: 250, afterQuiet: 1000 };

/** A node that has not reached the end of the log for this time is lagging: the balancer sends it no requests. */
export const behindMilliseconds = 10_000;

/**
 * A node reports at each interval `every`. After `absent` without a report it counts as absent, and its name is free
 * for another process. After `forgettable` it may be removed from the list. A start fails if the first report has not
 * succeeded within `first`.
 */
export const reportMilliseconds = { every: 1000, absent: 5000, forgettable: 60_000, first: 15_000 };

/** If a node stands still for this time, another node takes over its work, such as mail or cleaning. */
export const leaseMilliseconds = 15_000;

/** How often a lease is renewed within its duration. */
export const leaseLooks = 3;

const minute = 60_000;

/** The pin of a file ends after `lasts` if its node is gone. A node renews its pins at each interval `renew`. */
export const pinMilliseconds = { lasts: 60 * minute, renew: 10 * minute };

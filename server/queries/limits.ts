/** The bounds of `limit`, and its value if it is missing. A larger number is read as the largest. */
type Limits = { least: number; most: number; otherwise: number };

/** Of pages of documents and of things: each may be large, or has to be looked at with the rules of the caller. */
export const pageLimits: Limits = { least: 1, most: 100, otherwise: 10 };

/** Of pages of events and versions, and of groups and values: small records, of which programs read many. */
export const recordLimits: Limits = { ...pageLimits, most: 1000 };

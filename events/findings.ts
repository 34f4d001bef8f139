/** The first thing found to be wrong, in words that name the event. */
export type Finding = string;

/** A finding, and the events that it is about: the first of them is among those at positions `from` to `to`; null where that is not known. */
export type Trouble = { finding: Finding; from: number | null; to: number | null };

/** The range of a trouble without known events. */
export const everywhere: Omit<Trouble, 'finding'> = { from: null, to: null };

import type { en } from './en/index.ts';

/** All words of the interface: another language has the same. */
export type Words = typeof en;

import { accessMutations } from './access.ts';
import { callerMutations } from './callers.ts';
import { diskMutations } from './disk.ts';
import { erasureMutations } from './erasure.ts';
import { logMutations } from './log.ts';
import type { Mutation } from './mutation.ts';
import { outsideMutations } from './outside.ts';
import { proofMutations } from './proofs.ts';
import { readingMutations } from './reading.ts';
import { threadMutations } from './threads.ts';
import { writeMutations } from './writes.ts';

/** All faults that quick tests are known to find, by area. */
export const mutations: readonly Mutation[] = [
  ...logMutations,
  ...writeMutations,
  ...readingMutations,
  ...accessMutations,
  ...callerMutations,
  ...erasureMutations,
  ...diskMutations,
  ...proofMutations,
  ...outsideMutations,
  ...threadMutations,
];

import type { Mutation } from './mutation.ts';

/** Faults of threads: when they rest, and what wakes them up. */
export const threadMutations: readonly Mutation[] = [
  {
    what: 'A pause of ten seconds throws compiled code away.',
    file: 'server/platform/rest.ts',
    text: 'const restLooks = 4;',
    replacement: 'const restLooks = 1;',
    test: { file: 'test/platform/rest.test.ts', name: 'keeps compiled code through pauses of half a minute' },
  },
  {
    what: 'Each look at something wakes its thread up for itself.',
    file: 'server/platform/ticks.ts',
    text: '(Math.floor(now / milliseconds) + 1) * milliseconds',
    replacement: 'now + milliseconds',
    test: {
      file: 'test/platform/ticks.test.ts',
      name: 'comes together with others: no other timer comes for one that is made less often',
    },
  },
];

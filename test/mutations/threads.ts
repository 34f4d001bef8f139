import type { Mutation } from './mutation.ts';

/** Faults of threads: when they rest, what wakes them up, and what they take on. */
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
  {
    what: 'A write that could not be answered in time is queued before it is refused.',
    file: 'server/http/write-admission.ts',
    text: 'if (isRefused(waiting, queue.waiting.length)) {',
    replacement: 'if (isRefused(waiting, 0)) {',
    test: {
      file: 'test/http/write-admission.test.ts',
      name: 'are refused behind more than can be answered in time, and those before them are accepted',
    },
  },
  {
    what: 'A writer seems to be slow since little was sent to it.',
    file: 'server/writer/append.ts',
    text: 'rate.begin(waiting.size >= mostWaiting.few, now());',
    replacement: 'rate.begin(true, now());',
    test: {
      file: 'test/writer/append.test.ts',
      name: 'takes a few all the same, and learns nothing from them, nor from a writer that was held up',
    },
  },
];

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are texts of sources
import type { Mutation } from './mutation.ts';

const deciding = 'test/events/documents.test.ts';
const etags = 'test/documents/concurrency/etags.test.ts';
const precondition = 'test/documents/concurrency/precondition.test.ts';
const answers = 'test/documents/concurrency/answer-once.test.ts';
const keeping = 'test/documents/concurrency/replay-keeping.test.ts';
const repeating = 'test/documents/concurrency/idempotency.test.ts';

/** Faults of writes: unique values, ETags, conditions, repeated requests. */
export const writeMutations: readonly Mutation[] = [
  {
    what: 'A deleted document keeps its unique values.',
    file: 'events/facts/documents.ts',
    text: 'releases: claimsOf(target.unique, current.document),',
    replacement: 'releases: [],',
    test: {
      file: deciding,
      name: 'are given up when it is deleted, and the one before when it is changed or emptied',
    },
  },
  {
    what: 'A changed document keeps the unique values that it had.',
    file: 'events/facts/documents.ts',
    text: '...claimChanges(claimsOf(target.unique, current.document), claimsOf(target.unique, after)),',
    replacement:
      '...claimChanges(claimsOf(target.unique, current.document), claimsOf(target.unique, after)), releases: [],',
    test: {
      file: deciding,
      name: 'are given up when it is deleted, and the one before when it is changed or emptied',
    },
  },
  {
    what: 'A write of the values that are there already is recorded.',
    file: 'events/facts/documents.ts',
    text: 'if (Object.keys(changed).length === 0) return null;',
    replacement: '',
    test: { file: deciding, name: 'is not recorded, unless it is to be all the same' },
  },
  {
    what: 'Two changes within a millisecond have the same updatedAt.',
    file: 'events/facts/documents.ts',
    text: 'Math.max(at, last + 1)',
    replacement: 'Math.max(at, last)',
    test: {
      file: deciding,
      name: 'is later than the one before, also within a millisecond and after the clock was put back',
    },
  },
  {
    what: 'The ETag does not depend on what else stands in an answer.',
    file: 'server/documents/concurrency/etags.ts',
    text: "return `${version}-${hash('sha256', text, 'base64url').slice(0, 16)}`;",
    replacement: "return `${version}-${hash('sha256', '', 'base64url').slice(0, 16)}`;",
    test: {
      file: etags,
      name: 'changes with what else stands in an answer: related documents, joins and what hooks make',
    },
  },
  {
    what: 'If-Match lets in a writer who knows the version before.',
    file: 'server/documents/concurrency/precondition.ts',
    text: 'if (version !== current.version) return false;',
    replacement: 'if (version !== current.version && version !== current.version - 1) return false;',
    test: {
      file: precondition,
      name: 'lets exactly one of many writers with the same If-Match win, and tells the others what differs',
    },
  },
  {
    what: 'A write that a rival has overtaken is tried again as it was decided at first.',
    file: 'server/documents/write/writes.ts',
    text: 'const { command, answer, refuse } = await decide();',
    replacement: 'const { command, answer, refuse } = await ((request as any).decided ??= decide());',
    test: {
      file: 'test/documents/conflicts.test.ts',
      name: 'is decided anew, on what is there by then, and answers what was recorded in the end',
    },
  },
  {
    what: 'A 412 shows values that the caller may not read.',
    file: 'server/documents/concurrency/precondition.ts',
    text: 'if (!(await maySee(call, line, current.document))) return null;',
    replacement: '',
    test: { file: precondition, name: 'tells of a document only what the caller may see of it' },
  },
  {
    what: 'A repeated request for an API key makes another one.',
    file: 'server/documents/concurrency/answer-once.ts',
    text: 'if (found.attempt === attempt) return null;',
    replacement: "if (found.attempt !== '') return null;",
    test: { file: answers, name: 'makes one API key, and shows its secret again to its maker alone' },
  },
  {
    what: 'The secret of an API key is kept as it is.',
    file: 'server/documents/concurrency/replay-encryption.ts',
    text: "[cipher.update(text, 'utf8'), cipher.final()]",
    replacement: "[Buffer.from(text, 'utf8'), cipher.final()]",
    test: {
      file: keeping,
      name: 'is decrypted by the idempotency key, the route and the request that it was encrypted for',
    },
  },
  {
    what: 'A kept answer is given to a caller who may not do such a thing any more.',
    file: 'server/documents/concurrency/answer-once.ts',
    text: 'await options.again?.();',
    replacement: '',
    test: { file: answers, name: 'shows nothing to a caller who may not do it any more' },
  },
  {
    what: 'A request that recorded something and failed gives its idempotency key back.',
    file: 'server/documents/concurrency/answer-once.ts',
    text: 'if (!mayBeRecorded) await stored',
    replacement: 'await stored',
    test: { file: keeping, name: 'and recorded something keeps its key' },
  },
  {
    what: 'Another body under an idempotency key gets the answer to the first.',
    file: 'server/documents/concurrency/idempotency-key.ts',
    text: 'if (first.fingerprint === fingerprint) return;',
    replacement: "if (fingerprint !== '') return;",
    test: {
      file: repeating,
      name: 'stands for one body, reason and condition: another one is a 422, and records nothing',
    },
  },
  {
    what: 'The change reason and If-Match are no part of what an idempotency key stands for.',
    file: 'server/documents/concurrency/idempotency-key.ts',
    text: "[headers['if-match'], headers['x-change-reason']].map((value) => value ?? null);",
    replacement: '[headers].map(() => null);',
    test: {
      file: repeating,
      name: 'stands for one body, reason and condition: another one is a 422, and records nothing',
    },
  },
  {
    what: 'The idempotency key of one caller gives another one the answer.',
    file: 'server/documents/concurrency/idempotency-key.ts',
    text: "keyed(app, 'key', [type, id, method,",
    replacement: "keyed(app, 'key', [type === id, method,",
    test: { file: repeating, name: 'is of its caller, and of its route' },
  },
  {
    what: 'A repeated request is answered without asking again whether its caller may do it.',
    file: 'server/documents/concurrency/idempotency.ts',
    text: 'await authorize(write, operation, subject);',
    replacement: 'void subject;',
    test: { file: repeating, name: 'gives the first answer to no caller who may not do it any more' },
  },
  {
    what: 'A command with a recorded idempotency key is recorded once more.',
    file: 'events/log/recorder.ts',
    text: 'const first = idempotency && idempotencyRecords.find(idempotency.key, now());',
    replacement: 'const first = null;',
    test: {
      file: 'test/events/idempotency.test.ts',
      name: 'are recorded with their command, and found before a stale version and within the same batch',
    },
  },
  {
    what: 'A retry is known for ten minutes, and not for seven days.',
    file: 'events/facts/idempotency.ts',
    text: 'export const idempotencyMilliseconds = 7 * 24 * 3600 * 1000;',
    replacement: 'export const idempotencyMilliseconds = 10 * 60 * 1000;',
    test: { file: 'test/documented-numbers.test.ts', name: 'holds: an idempotency key' },
  },
  {
    what: 'Hooks are not called after a change.',
    file: 'server/documents/write/document-writes.ts',
    text: 'const shown = hookContext ? await runAfterHooks(',
    replacement: 'const shown = hookContext && false ? await runAfterHooks(',
    test: {
      file: 'test/documents/hooks.test.ts',
      name: 'after a change may alter the answer and never what is stored',
    },
  },
];

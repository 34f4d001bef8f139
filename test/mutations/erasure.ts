import type { Mutation } from './mutation.ts';

/** Faults of erasures: something of an erased document stays, or more goes than should. */
export const erasureMutations: readonly Mutation[] = [
  {
    what: 'An erasure leaves the payloads in the log.',
    file: 'events/log/erasing.ts',
    text: 'deletePayload.run(position);',
    replacement: 'void deletePayload;',
    test: {
      file: 'test/events/erasures.test.ts',
      name: 'takes payloads, claims and idempotency records of the streams it names, and leaves headers, tree and other streams',
    },
  },
  {
    what: 'An erasure leaves the unique values that were claimed.',
    file: 'events/log/erasing.ts',
    text: 'for (const stream of names) deleteClaims.run(stream);',
    replacement: 'void deleteClaims;',
    test: {
      file: 'test/events/erasures.test.ts',
      name: 'takes payloads, claims and idempotency records of the streams it names, and leaves headers, tree and other streams',
    },
  },
  {
    what: 'An erasure leaves the kept answers to idempotency keys.',
    file: 'events/log/erasing.ts',
    text: 'for (const stream of idempotencyOf) deleteCommands.run(stream);',
    replacement: 'void deleteCommands;',
    test: {
      file: 'test/events/erasures.test.ts',
      name: 'takes payloads, claims and idempotency records of the streams it names, and leaves headers, tree and other streams',
    },
  },
  {
    what: 'A bulk call that made an erased document is still known by its idempotency key.',
    file: 'events/log/erasing.ts',
    text: 'if (header.batch !== undefined) idempotencyOf.add(batchStream(header.batch));',
    replacement: '',
    test: {
      file: 'test/documents/bulk.test.ts',
      name: 'is forgotten under its Idempotency-Key when one of its documents is erased',
    },
  },
  {
    what: 'An erased payload is still read from its segment.',
    file: 'events/log/erasing.ts',
    text: 'insertRemoval.run(position, position);',
    replacement: 'void insertRemoval;',
    test: {
      file: 'test/events/segments.test.ts',
      name: 'takes an erased payload from no segment, and has it in none once that is written anew',
    },
  },
  {
    what: 'An erasure removes no files.',
    file: 'events/log/erasing.ts',
    text: 'insert.run(position, JSON.stringify(files));',
    replacement: "insert.run(position, '[]');",
    test: {
      file: 'test/audit/erasure/erasures.test.ts',
      name: 'takes stored files that nothing else names, and says which stay',
    },
  },
  {
    what: 'An erasure removes files that other documents need.',
    file: 'server/files/blobs/erasing.ts',
    text: 'if (needed.has(one)) continue;',
    replacement: '',
    test: {
      file: 'test/audit/erasure/erasures.test.ts',
      name: 'takes stored files that nothing else names, and says which stay',
    },
  },
  {
    what: 'The search index keeps the words of an erased document.',
    file: 'projections/tables/search-fold.ts',
    text: 'if (hasErased) writer.forget();',
    replacement: '',
    test: {
      file: 'test/projections/search.test.ts',
      name: 'keeps no word of an erased document, and is rebuilt if it is damaged, unfinished, or of another log',
    },
  },
  {
    what: 'An erasure of a document leaves the unsaved changes to it.',
    file: 'events/vault/unsaved-changes.ts',
    text: 'WHERE target = :stream OR owner = :stream',
    replacement: 'WHERE owner = :stream',
    test: {
      file: 'test/documents/drafts.test.ts',
      name: 'is erased with its document, and with its user, to the last byte',
    },
  },
  {
    what: 'An erasure of an account leaves the unsaved changes of its user.',
    file: 'events/vault/unsaved-changes.ts',
    text: 'WHERE target = :stream OR owner = :stream',
    replacement: 'WHERE target = :stream',
    test: {
      file: 'test/documents/drafts.test.ts',
      name: 'is erased with its document, and with its user, to the last byte',
    },
  },
  {
    what: 'An erased change is still in the write-ahead log of the vault.',
    file: 'events/vault/traces.ts',
    text: 'if (!hasTraces || !removeTraces(db)) return false;',
    replacement: '',
    test: {
      file: 'test/documents/drafts.test.ts',
      name: 'is erased with its document, and with its user, to the last byte',
    },
  },
  {
    what: 'An erasure takes the reason of an earlier one with it.',
    file: 'events/facts/erasures.ts',
    text: "return type === 'document.erased';",
    replacement: 'return false;',
    test: {
      file: 'test/events/erasures.test.ts',
      name: 'leaves what says that and why something was erased when it is erased once more',
    },
  },
  {
    what: 'The last account that may manage others can be erased.',
    file: 'server/access/administrators.ts',
    text: 'if (version !== undefined && (await administers(call, app.userOf(slug, other), false)))',
    replacement: 'if (version !== undefined)',
    test: {
      file: 'test/audit/erasure/rights.test.ts',
      name: 'is erased by no caller over HTTP, and by the operator',
    },
  },
];

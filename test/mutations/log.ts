import type { Mutation } from './mutation.ts';

/** Faults of the log: its order, its claims, its batches, and that it is on the disk. */
export const logMutations: readonly Mutation[] = [
  {
    what: 'A write that was decided on an older version of its stream is recorded.',
    file: 'events/log/recorder.ts',
    text: 'return expectedVersion !== null && expectedVersion !== version;',
    replacement: 'return expectedVersion !== null && expectedVersion > version;',
    test: {
      file: 'test/events/log.test.ts',
      name: 'refuses a stale expected version with the version there is, across batches and within one',
    },
  },
  {
    what: 'A unique value that another stream has is taken once more.',
    file: 'events/log/claim-rows.ts',
    text: 'return isSecond || !isFree(scope, value) ||',
    replacement: 'return isSecond ||',
    test: {
      file: 'test/events/log.test.ts',
      name: 'gives a unique value to one stream until it is released, and names the value that is taken',
    },
  },
  {
    what: 'A call that gives one unique value to two documents is not refused with its name.',
    file: 'events/log/claim-rows.ts',
    text: 'return isSecond || !isFree(scope, value)',
    replacement: 'return !isFree(scope, value)',
    test: {
      file: 'test/events/units.test.ts',
      name: 'is refused over a value that two of its changes claim, and names it',
    },
  },
  {
    what: 'A command that gives up one value may take any other as well.',
    file: 'events/facts/claims.ts',
    text: 'return given.has(heldText(scope, value, holder));',
    replacement: 'return given.size > 0;',
    test: {
      file: 'test/events/units.test.ts',
      name: 'leaves no trace in any stream when one of them refuses, and its neighbours are recorded',
    },
  },
  {
    what: 'A command takes the values of a change before those after it give theirs up.',
    file: 'events/log/recorder.ts',
    text: 'const moved = claims.exchange(changes);',
    replacement: 'const moved = changes.flatMap((change) => claims.exchange([change]));',
    test: {
      file: 'test/documents/swaps.test.ts',
      name: 'swaps the values of two documents, and its undo swaps them back',
    },
  },
  {
    what: 'A dry run of a bulk call refuses values that the call itself gives up.',
    file: 'server/documents/write/writes.ts',
    text: 'const isFree = freeAmong(changes, ',
    replacement: 'const isFree = freeAmong([], ',
    test: {
      file: 'test/documents/swaps.test.ts',
      name: 'swaps the values of two documents, and its undo swaps them back',
    },
  },
  {
    what: 'Of a command over several streams, the versions of the others are not looked at.',
    file: 'events/log/recorder.ts',
    text: 'if (isStale(expectedVersion, version)) return',
    replacement: 'if (stream === changes[0]?.stream && isStale(expectedVersion, version)) return',
    test: {
      file: 'test/events/units.test.ts',
      name: 'leaves no trace in any stream when one of them refuses, and its neighbours are recorded',
    },
  },
  {
    what: 'A command that SQLite refuses takes the others of its batch with it.',
    file: 'events/log/sqlite-log.ts',
    text: 'transaction.undoable(batch, () => record(command, batch));',
    replacement: 'record(command, batch);',
    test: {
      file: 'test/events/log.test.ts',
      name: 'leaves no trace of a command that SQLite refuses halfway, and records its neighbours',
    },
  },
  {
    what: 'The events of a refused command go into the tree, since their leaves stay.',
    file: 'events/log/transactions.ts',
    text: 'leaves.length = mark;',
    replacement: '',
    test: {
      file: 'test/events/log.test.ts',
      name: 'leaves no trace of a command that SQLite refuses halfway, and records its neighbours',
    },
  },
  {
    what: 'The log goes on from a head in memory that was rolled back in the file.',
    file: 'events/log/transactions.ts',
    text: 'tip.reload();',
    replacement: '',
    test: {
      file: 'test/events/log.test.ts',
      name: 'undoes a whole batch that fails at its very end, when its tiles are filled already',
    },
  },
  {
    what: 'Times of events go back with the clock.',
    file: 'events/log/recorder.ts',
    text: 'return time > last ? time : last;',
    replacement: 'return time;',
    test: {
      file: 'test/events/log.test.ts',
      name: 'never records a time before the last one, in one batch, over batches and after a restart',
    },
  },
  {
    what: 'The log is opened with synchronous=NORMAL: what was acknowledged is lost with the power.',
    file: 'projections/start/boot.ts',
    text: "durability: options.isReplica ? 'normal' : 'full'",
    replacement: "durability: 'normal'",
    test: {
      file: 'test/storage/syncs.test.ts',
      name: 'is on the disk before its answer: each commit of the log and of the vault is synced',
    },
  },
  {
    what: 'Folders of uploaded files are never synced.',
    file: 'storage/disk.ts',
    text: 'await folder.sync();',
    replacement: 'await folder.stat();',
    test: {
      file: 'test/storage/syncs.test.ts',
      name: 'is on the disk before its answer: the bytes of an upload, and the entries of its folders',
    },
  },
  {
    what: 'A rename of a field is not applied to events from before it.',
    file: 'projections/tables/projector.ts',
    text: 'upcaster.upcast(key, header, data)',
    replacement: 'data',
    test: {
      file: 'test/projections/boot-schema.test.ts',
      name: 'carries the values and the claims of a renamed field over, and forgets renamedFrom without a rebuild',
    },
  },
  {
    what: 'Read tables forget that a document was there before its deletion and its restore.',
    file: 'projections/tables/projector.ts',
    text: 'const stored = version === 1 ? null : writer.load(id);',
    replacement: 'const stored = null;',
    test: {
      file: 'test/projections/projector.test.ts',
      name: 'is the same, byte for byte, for events one by one, in any batches, or all at once',
    },
  },
  {
    what: 'Totals of lists do not fall when documents are deleted.',
    file: 'projections/tables/projector.ts',
    text: 'if (change !== 0) changes.set',
    replacement: 'if (change > 0) changes.set',
    test: {
      file: 'test/projections/projector.test.ts',
      name: 'follow creates, deletes and re-creates, however many of them are in a batch, in a bulk load too',
    },
  },
  {
    what: 'A node takes in events of a shared log that do not give its head.',
    file: 'events/log/ingesting.ts',
    text: 'if (head && !isSame(head, after)) {',
    replacement: 'if (head && head.size !== after.size) {',
    test: {
      file: 'test/events/replica.test.ts',
      name: 'refuses rows that are not those of its log, and has nothing of them',
    },
  },
  {
    what: 'A node takes in a payload that is not the one its event commits to.',
    file: 'events/log/ingesting.ts',
    text: 'if (body !== null && commitmentOf(body) !== header.payload)',
    replacement: 'if (body === header.payload)',
    test: {
      file: 'test/events/replica.test.ts',
      name: 'refuses rows that are not those of its log, and has nothing of them',
    },
  },
  {
    what: 'A header that was made elsewhere loses what is not canonical in it.',
    file: 'events/log/header-rows.ts',
    text: 'agreesWith(header, row) && encodeHeader(header) === text',
    replacement: 'agreesWith(header, row)',
    test: {
      file: 'test/events/header-rows.test.ts',
      name: 'a header whose text differs from its members or its columns is kept as it is',
    },
  },
  {
    what: 'A doubted shipment is shipped again without a look for it.',
    file: 'events/replica/append-protocol.ts',
    text: "doubted: { takes: 'suspect',",
    replacement: "doubted: { takes: 'taken',",
    test: {
      file: 'test/events/append-protocol.test.ts',
      name: 'neither ships again nor says that nothing was appended before it has looked for a doubted shipment',
    },
  },
  {
    what: 'A write that PostgreSQL has, and its own node could not write, is answered as if it were not there.',
    file: 'events/replica/append-protocol.ts',
    text: "shipped: { commits: 'committed', fails: 'unknown' },",
    replacement: "shipped: { commits: 'committed', fails: 'failed' },",
    test: {
      file: 'test/events/append-protocol.test.ts',
      name: 'never says that nothing was appended when something was',
    },
  },
];

import fc from 'fast-check';
import type { Change, Claim, Command } from '../../events/facts/log.ts';
import type { SqliteLog } from '../../events/log/sqlite-log.ts';
import type { Sqlite } from '../../storage/sqlite.ts';
import { change, claim, command, contentOf } from './logs.ts';

type Node = { db: Sqlite; log: SqliteLog };

/** Every table that a replica has from the log it follows. */
export function rowsOf(db: Sqlite): Record<string, unknown[]> {
  const others = ['commands', 'erasures'].map((table) => [
    table,
    db.prepare(`SELECT * FROM ${table} ORDER BY 1`).all(),
  ]);
  return { ...contentOf(db), ...Object.fromEntries(others) };
}

const streams = ['people/a', 'people/b', 'people/c', 'posts/1'];

/** A change as random numbers choose it; what it releases is what its stream holds. */
type Choice = {
  stream: number;
  stale: number;
  events: number;
  claims: number[];
  isReleasing: boolean;
};

export type Chosen =
  | {
      kind: 'write';
      main: Choice;
      others: Choice[];
      idempotency: number | null;
      isInBatch: boolean;
      isRefused: boolean;
    }
  /** Each stream takes what the next one holds; the last takes what the first one does, or nothing. */
  | { kind: 'rotate'; streams: number[]; isCycle: boolean; isInBatch: boolean; idempotency: number | null }
  | { kind: 'erase'; streams: number[]; idempotency: number | null };

const choice: fc.Arbitrary<Choice> = fc.record({
  stream: fc.nat(streams.length - 1),
  stale: fc.integer({ min: 0, max: 9 }),
  events: fc.integer({ min: 1, max: 3 }),
  claims: fc.uniqueArray(fc.nat(5), { maxLength: 2 }),
  isReleasing: fc.boolean(),
});

const idempotency = fc.option(fc.nat(8));

const chosen: fc.Arbitrary<Chosen> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('write' as const),
      main: choice,
      others: fc.array(choice, { maxLength: 2 }),
      idempotency,
      isInBatch: fc.boolean(),
      isRefused: fc.nat(15).map((number) => number === 0),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('rotate' as const),
      streams: fc.shuffledSubarray([...streams.keys()], { minLength: 2 }),
      isCycle: fc.boolean(),
      isInBatch: fc.boolean(),
      idempotency,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('erase' as const),
      streams: fc.uniqueArray(fc.nat(streams.length - 1), { minLength: 1, maxLength: 2 }),
      idempotency,
    }),
  },
);

/**
 * Random batches of a log, with what is to happen after each: the time that passes, whether it is rolled back, how many
 * events are followed.
 */
export const steps = fc.array(
  fc.record({
    commands: fc.array(chosen, { minLength: 1, maxLength: 6 }),
    isRolledBack: fc.nat(3).map((number) => number === 0),
    milliseconds: fc.nat(2000),
    page: fc.option(fc.integer({ min: 1, max: 9 })),
  }),
  { minLength: 1, maxLength: 8 },
);

const uuid = '0198f0a0-0000-7000-8000-00000000000';

function held(db: Sqlite, stream: string): Claim[] {
  const select = db.prepare<[stream: string], Claim>('SELECT scope, value FROM claims WHERE stream = ? ORDER BY 1, 2');
  return select.all(stream);
}

function changeBy({ db, log }: Node, { stream: index, stale, events, claims, isReleasing }: Choice): Change {
  const stream = streams[index] as string;
  const version = log.versionOf(stream);
  return change(stream, stale === 0 ? version + 1 : stale < 4 ? null : version, {
    events: Array.from({ length: events }, (_, at) => {
      const data = { id: stream, sha256: `${version}${at}`.padStart(64, 'ab'), text: `Grüße \uFFFD \0 ${at}` };
      return { type: 'document.created', data };
    }),
    claims: claims.map((value) => claim(String(value))),
    releases: isReleasing ? held(db, stream) : [],
  });
}

function rotationBy({ db, log }: Node, { streams: indexes, isCycle, isInBatch }: Chosen & { kind: 'rotate' }) {
  const names = indexes.map((index) => streams[index] as string);
  const all = names.map((stream) => held(db, stream));
  const changes = names.map((stream, at) =>
    change(stream, log.versionOf(stream), {
      releases: all[at] ?? [],
      claims: (isCycle ? all[(at + 1) % all.length] : all[at + 1]) ?? [],
    }),
  );
  const [own, ...others] = isInBatch ? [change('bulk/1', null, { events: [] }), ...changes] : changes;
  return { ...(own as Change), otherStreams: others, ...(isInBatch ? { batch: `${uuid}1` } : {}) };
}

/** The command that a choice means for a log as it is. */
export function commandBy(node: Node, one: Chosen): Command {
  const tried =
    one.idempotency === null
      ? {}
      : { idempotency: { key: `key ${one.idempotency}`, fingerprint: `${one.idempotency}` } };
  if (one.kind === 'rotate') {
    const { stream, expectedVersion, ...rest } = rotationBy(node, one);
    return command(stream, expectedVersion, { ...rest, ...tried });
  }
  if (one.kind === 'write') {
    // A bulk call says nothing in a stream of its own.
    const isBulk = one.isInBatch && one.others.length > 0;
    const { stream, expectedVersion, ...main } = isBulk
      ? change('bulk/1', null, { events: [] })
      : changeBy(node, one.main);
    // Found when the rest of the command is written: no check foresees it.
    const refused = change('posts/2', null, { releases: [claim('never held')] });
    return command(stream, expectedVersion, {
      ...main,
      otherStreams: [...one.others.map((other) => changeBy(node, other)), ...(one.isRefused ? [refused] : [])],
      ...tried,
      ...(one.isInBatch ? { batch: `${uuid}1` } : {}),
    });
  }
  const names = one.streams.map((index) => streams[index] as string);
  const declared = names.map((stream) => ({ stream, versions: node.log.versionOf(stream) }));
  return command(names[0] as string, declared[0]?.versions ?? null, {
    events: [{ type: 'document.erased', data: { streams: declared } }],
    otherStreams: declared.slice(1).map(({ stream, versions }) => change(stream, versions, { events: [] })),
    erases: names,
    context: { reason: 'asked to' },
    ...tried,
  });
}

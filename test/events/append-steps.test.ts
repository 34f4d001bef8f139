import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Header } from '../../events/facts/envelope.ts';
import type { SharedHead, Shipment } from '../../events/log/shipment.ts';
import type { BatchResult, PreparedBatch } from '../../events/log/sqlite-log.ts';
import { advance, isState, type Position, type State, transitions } from '../../events/replica/append-protocol.ts';
import { type AppendRun, runAppend, steps } from '../../events/replica/append-steps.ts';
import { openQueue } from '../../events/replica/queue.ts';
import {
  LogWentBackError,
  SharedLogUnavailableError,
  type TakenLog,
  UnknownShipmentError,
} from '../../events/replica/shared-log.ts';

/** How the log behaves one time that it is to be taken. */
type Take =
  | 'works'
  /** No server takes writes. */
  | 'fails'
  /** The lock was lost: the replica has more than the log that was taken. */
  | 'isOvertaken'
  /** The log has other events than the replica. */
  | 'differs'
  /** The answer to COMMIT is lost, and the events are there. */
  | 'losesAnswer'
  /** The answer to COMMIT is lost, and the events are not there. */
  | 'losesShipment'
  /** PostgreSQL refuses the rows. */
  | 'refuses'
  /** The standby does not answer to an empty commit. */
  | 'confirmsNothing';

/** `takes` in their order; the errors of the replica; `isLate`: the time is over when the answer is lost. */
type Scene = {
  takes: Take[];
  prepare?: Error;
  commit?: Error;
  apply?: Error;
  repeated?: number;
  isEmpty?: boolean;
  isLate?: boolean;
};

const lost = new UnknownShipmentError('the answer was lost');
const unreachable = new SharedLogUnavailableError('no server takes writes');
const refused = new SharedLogUnavailableError('PostgreSQL refused');
const invalid = new Error('nothing to apply');
const full = new Error('database or disk is full');
const broken = new Error('the read tables are damaged');

/** An append of one event to a log and a replica in memory. `calls`: the effects, in their order. */
function openScene(scene: Scene): { append: AppendRun; calls: string[]; shared: string[]; replica: string[] } {
  const [calls, shared, replica] = [[], ['id-0'], ['id-0']] as [string[], string[], string[]];
  const takes = [...scene.takes];
  const headAt = (size: number, root = size): SharedHead => {
    return { log: 'annals/test', size, root: Buffer.alloc(32, root), recordedAt: '' };
  };
  const rows = { claims: [], idempotencyRecords: [], erasures: [] };
  const eventAt = (position: number, id: string) => ({ position, id, stream: 's', version: 1, header: '', body: '' });
  const until = performance.now() + (scene.isLate ? 10 : 60_000);
  const call = (name: string, error: Error | undefined) => {
    calls.push(name);
    if (error) throw error;
  };

  async function take(): Promise<TakenLog> {
    const way = takes.shift() ?? assert.fail('the log is taken once more');
    call('take', way === 'fails' ? unreachable : undefined);
    const size = way === 'isOvertaken' ? replica.length - 1 : shared.length;
    const head = headAt(size, way === 'differs' ? 99 : size);
    return {
      head,
      now: 0,
      missing: (from) => {
        return { from, head, events: shared.slice(from).map((id, at) => eventAt(from + at + 1, id)), ...rows };
      },
      async ship({ events }) {
        if (way === 'refuses') call('ship', refused);
        if (way !== 'losesShipment') shared.push(...events.map(({ id }) => id));
        while (scene.isLate && performance.now() < until) await nextTurn();
        call('ship', way === 'losesAnswer' || way === 'losesShipment' ? lost : undefined);
      },
      confirm: async () => call('confirm', way === 'confirmsNothing' ? lost : undefined),
      release: async () => call('release', undefined),
    };
  }

  let made = 0;
  function prepare(): PreparedBatch {
    call('prepare', scene.prepare);
    made += 1;
    const events = scene.isEmpty ? [] : [eventAt(replica.length + 1, `id-${made}`)];
    const shipment: Shipment = { from: replica.length, head: headAt(replica.length + 1), events, ...rows };
    const first = { fingerprint: 'f', stream: 's', position: scene.repeated ?? 0, version: 1 };
    const outcomes: BatchResult['outcomes'] =
      scene.repeated === undefined ? [] : [{ ok: false, conflict: 'idempotency', first }];
    return {
      outcomes,
      recorded: [],
      shipment,
      commit: () => {
        call('commit', scene.commit);
        replica.push(...events.map(({ id }) => id));
      },
      rollBack: () => call('rollBack', undefined),
    };
  }

  const writer: AppendRun['writer'] = {
    replica: {
      head: () => ({ ...headAt(replica.length), mac: Buffer.alloc(0) }),
      range: (after) => [{ header: { id: replica[after] } as Header, data: null, context: null }],
      prepare,
      ingest({ events }) {
        calls.push('ingest');
        replica.push(...events.map(({ id }) => id));
        return [];
      },
    },
    shared: { take, tail: () => assert.fail(), head: () => assert.fail(), close: async () => {} },
    clock: { now: () => 0, set: () => {} },
    pages: { next: () => assert.fail() },
    apply: () => call('apply', scene.apply),
    refuses: () => null,
    replicaWrites: openQueue(),
    durable: 0,
  };
  return { append: { writer, prepare, until, hold: undefined }, calls, shared, replica };
}

/** The states of an append, in their order. */
async function pathOf({ append }: ReturnType<typeof openScene>): Promise<Position['state'][]> {
  let at: Position = { state: 'free', known: {} };
  const path: Position['state'][] = [at.state];
  while (isState(at)) {
    const from: Position<State> = at;
    at = await advance(steps, append, from);
    path.push(at.state);
  }
  return path;
}

const shipping = 'level prepared shipped committed settled';
const begun = 'take prepare';
const applied = 'ship commit apply';

const scenes: [what: string, scene: Scene, path: string, calls: string, error?: unknown][] = [
  ['ships, commits and applies', { takes: ['works'] }, `free taken ${shipping}`, `${begun} ${applied}`],
  ['appends nothing if the log cannot be taken', { takes: ['fails'] }, 'free failed', 'take', unreachable],
  [
    'takes the log again if it lost it before the replica was free',
    { takes: ['isOvertaken', 'works'] },
    `free taken free taken ${shipping}`,
    `take release ${begun} ${applied}`,
  ],
  ['stops at a log that differs', { takes: ['differs'] }, 'free taken failed', 'take release', LogWentBackError],
  [
    'finds a shipment whose answer was lost, and does not ship again',
    { takes: ['losesAnswer', 'works'] },
    'free taken level prepared doubted suspect visible settled',
    `${begun} ship rollBack take ingest confirm`,
  ],
  [
    'ships again when a doubted shipment is not in the log',
    { takes: ['losesShipment', 'works'] },
    `free taken level prepared doubted suspect ${shipping}`,
    `${begun} ship rollBack ${begun} ${applied}`,
  ],
  [
    'stays in doubt while it cannot look',
    { takes: ['losesAnswer', 'isOvertaken', 'fails'] },
    'free taken level prepared doubted suspect doubted unknown',
    `${begun} ship rollBack take release take`,
    UnknownShipmentError,
  ],
  [
    'does not say that nothing was appended if the log differs after a lost answer',
    { takes: ['losesShipment', 'differs'] },
    'free taken level prepared doubted suspect unknown',
    `${begun} ship rollBack take release`,
    LogWentBackError,
  ],
  [
    'leaves a doubted shipment to its client when the time is over',
    { takes: ['losesAnswer'], isLate: true },
    'free taken level prepared unknown',
    `${begun} ship rollBack`,
    lost,
  ],
  [
    'appends nothing if PostgreSQL refuses the rows',
    { takes: ['refuses'] },
    'free taken level prepared failed',
    `${begun} ship rollBack`,
    refused,
  ],
  [
    'gives the log back if nothing can be decided',
    { takes: ['works'], prepare: invalid },
    'free taken level failed',
    `${begun} release`,
    invalid,
  ],
  [
    'gives the log back if there is nothing to append',
    { takes: ['works'], isEmpty: true },
    'free taken level settled',
    `${begun} rollBack release`,
  ],
  [
    'makes sure that a repeated answer is durable',
    { takes: ['works'], isEmpty: true, repeated: 1 },
    'free taken level visible settled',
    `${begun} rollBack confirm`,
  ],
  [
    'does not repeat an answer that may be lost',
    { takes: ['confirmsNothing'], isEmpty: true, repeated: 1 },
    'free taken level visible unknown',
    `${begun} rollBack confirm`,
    lost,
  ],
  [
    'does not answer if the replica cannot commit',
    { takes: ['works'], commit: full },
    'free taken level prepared shipped unknown',
    `${begun} ship commit`,
    UnknownShipmentError,
  ],
  [
    'stops if the read tables do not follow',
    { takes: ['works'], apply: broken },
    'free taken level prepared shipped committed failed',
    `${begun} ${applied}`,
    broken,
  ],
];

describe('An append to a shared log', () => {
  for (const [what, scene, path, calls, error] of scenes) {
    it(what, async () => {
      assert.equal((await pathOf(openScene(scene))).join(' '), path);
      const opened = openScene(scene);
      const running = runAppend(opened.append);
      if (error === undefined) await running;
      else if (error instanceof Error) await assert.rejects(running, (thrown) => thrown === error);
      else await assert.rejects(running, (thrown) => Object.getPrototypeOf(thrown).constructor === error);
      assert.equal(opened.calls.join(' '), calls);
      if (path.endsWith('settled')) assert.deepEqual(opened.replica, opened.shared);
    });
  }

  it('has a scene for each transition', () => {
    const walked = new Set(
      scenes.flatMap(([, , path]) => {
        const states = path.split(' ');
        return states.slice(1).map((next, at) => `${states[at]} ${next}`);
      }),
    );
    const all = Object.entries(transitions).flatMap(([state, row]) =>
      Object.values(row).map((next) => `${state} ${next}`),
    );
    assert.deepEqual([...walked].sort(), [...new Set(all)].sort());
  });
});

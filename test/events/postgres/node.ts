import { hash } from 'node:crypto';
import type { MissingRows, SharedHead, Shipment, ShippedErasure } from '../../../events/log/shipment.ts';
import { openPostgresLog, type PostgresLog } from '../../../events/postgres/postgres-log.ts';
import { appendLeaf, emptyRoot, leafHash, rootOf, type Tree } from '../../../events/proof/merkle.ts';
import { SharedLogUnavailableError, UnknownShipmentError } from '../../../events/replica/shared-log.ts';
import { createIds } from '../../../events/store/ids.ts';
import type { PostgresAddress } from '../../../storage/postgres/connection.ts';

/** A write: an event for a stream at a version, with a unique value, an idempotency key, and the streams it erases. */
export type Wish = {
  stream: string;
  version: number;
  value?: string;
  key?: string;
  body?: string;
  erases?: Pick<ShippedErasure, 'payloads' | 'streams' | 'files'>;
};

/** The answer of a node to a wish. */
export type Told = 'recorded' | 'version' | 'claim' | 'idempotency';

export type Node = Awaited<ReturnType<typeof openNode>>;

const ids = createIds(new BigInt64Array(new SharedArrayBuffer(8)), Date.now);

/** A node with a replica in memory, which decides as one with a real replica does: after it has taken the log. */
export async function openNode(
  address: PostgresAddress,
  { patience = 5000, opening = 5000, site = '', partSize = 65_536 } = {},
) {
  const warnings: string[] = [];
  const log: PostgresLog = await openPostgresLog({
    address,
    site,
    patience: opening,
    partSize,
    makeName: () => `annals/${ids.next().id}`,
    warn: (message) => warnings.push(message),
  });
  let replica = emptyReplica(log.name);
  const copy = () => structuredCloneOf(replica);

  /**
   * Appends wishes, each if it fits; all in one shipment. An unknown outcome is found out, within the patience of the
   * node.
   */
  async function append(wishes: readonly Wish[], whenTaken?: () => Promise<void>): Promise<Told[]> {
    const until = performance.now() + patience;
    let doubted: { shipment: Shipment; told: Told[] } | null = null;
    for (;;) {
      let taken: Awaited<ReturnType<PostgresLog['take']>>;
      try {
        taken = await log.take(replica.head, Math.max(until - performance.now(), 1));
      } catch (error) {
        // The outcome was unknown before, and still is.
        if (doubted && error instanceof SharedLogUnavailableError) throw new UnknownShipmentError(error.message);
        throw error;
      }
      const missing = taken.missing(replica.head.size);
      const isThere = doubted !== null && isAmong(missing, doubted.shipment);
      ingest(missing);
      if (doubted && isThere) {
        await taken.confirm();
        return doubted.told;
      }
      const before = copy();
      const { told, shipment } = decide(wishes);
      if (shipment.events.length === 0) {
        await taken.release();
        return told;
      }
      try {
        await whenTaken?.();
        await taken.ship(shipment);
        return told;
      } catch (error) {
        replica = before;
        if (!(error instanceof UnknownShipmentError) || performance.now() >= until) throw error;
        doubted = { shipment, told };
      }
    }
  }

  function decide(wishes: readonly Wish[]): { told: Told[]; shipment: Shipment } {
    const from = replica.head.size;
    const shipment: Shipment = {
      from,
      head: replica.head,
      events: [],
      claims: [],
      idempotencyRecords: [],
      erasures: [],
    };
    const told = wishes.map((wish): Told => {
      const { stream, version, value, key } = wish;
      if (key !== undefined && replica.idempotencyRecords.has(key)) return 'idempotency';
      if ((replica.versions.get(stream) ?? 0) !== version - 1) return 'version';
      if (value !== undefined && replica.claims.has(value)) return 'claim';
      const position = replica.head.size + 1;
      const id = ids.next().id;
      const header = JSON.stringify({ id, log: log.name, position, stream, version, text: 'Zürich' });
      const event = { position, id, stream, version, header, body: wish.body ?? `{"of":"${stream}"}` };
      shipment.events.push(event);
      if (wish.erases) shipment.erasures.push({ position, idempotencyOf: [], ...wish.erases });
      const claims = value === undefined ? [] : [{ position, stream, scope: 'posts.slug', value, isTaken: true }];
      const idempotencyRecords =
        key === undefined ? [] : [{ key, fingerprint: 'f', position, stream, version, recordedAt: Date.now() }];
      shipment.claims.push(...claims);
      shipment.idempotencyRecords.push(...idempotencyRecords);
      apply({ events: [event], claims, idempotencyRecords });
      return 'recorded';
    });
    return { told, shipment: { ...shipment, head: replica.head } };
  }

  function ingest(missing: MissingRows): void {
    apply(missing);
    if (missing.head && !missing.head.root.equals(replica.head.root)) throw new Error('the root is another one');
  }

  function apply({
    events,
    claims,
    idempotencyRecords,
  }: Pick<MissingRows, 'events' | 'claims' | 'idempotencyRecords'>): void {
    for (const { position, stream, version, header } of events) {
      if (position !== replica.tree.size + 1) throw new Error(`position ${position} follows on ${replica.tree.size}`);
      appendLeaf(replica.tree, leafHash(header), () => {});
      replica.versions.set(stream, version);
    }
    for (const { value, isTaken } of claims) {
      if (isTaken) replica.claims.add(value);
      else replica.claims.delete(value);
    }
    for (const { key } of idempotencyRecords) replica.idempotencyRecords.add(key);
    replica.head = {
      ...replica.head,
      size: replica.tree.size,
      root: rootOf(replica.tree),
      recordedAt: '2026-11-20T12:00:00.000Z',
    };
  }

  return {
    log,
    warnings,
    append,
    /** Takes into the replica all that others have appended. */
    async follow(): Promise<void> {
      for (let missing = await log.tail(replica.head, 100); ; missing = await log.tail(replica.head, 100)) {
        ingest(missing);
        if (missing.head !== null) return;
      }
    },
    head: () => replica.head,
    idempotencyRecords: () => replica.idempotencyRecords,
  };
}

type Replica = {
  head: SharedHead;
  tree: Tree;
  versions: Map<string, number>;
  claims: Set<string>;
  idempotencyRecords: Set<string>;
};

function emptyReplica(log: string): Replica {
  return {
    head: { log, size: 0, root: emptyRoot, recordedAt: '' },
    tree: { size: 0, nodes: [] },
    versions: new Map(),
    claims: new Set(),
    idempotencyRecords: new Set(),
  };
}

function structuredCloneOf({ head, tree, versions, claims, idempotencyRecords }: Replica): Replica {
  return {
    head,
    tree: { size: tree.size, nodes: [...tree.nodes] },
    versions: new Map(versions),
    claims: new Set(claims),
    idempotencyRecords: new Set(idempotencyRecords),
  };
}

/** Whether a shipment whose outcome was unknown is in the log. Ids of events are never used twice. */
function isAmong({ events }: MissingRows, shipment: Shipment): boolean {
  const last = shipment.events.at(-1);
  return last !== undefined && events.some(({ position, id }) => position === last.position && id === last.id);
}

/** A value that is longer than a key of PostgreSQL may be, also when it is compressed. */
export function longValue(seed: string): string {
  return Array.from({ length: 200 }, (_, at) => hash('sha512', `${seed}${at}`)).join('');
}

/** A shipment of one event that no replica has decided on. */
export function shipmentAfter(
  head: Shipment['head'],
  { stream, version = 1, body = '{}', value }: { stream: string; version?: number; body?: string; value?: string },
): Shipment {
  const position = head.size + 1;
  const id = `00000000-0000-7000-8000-${String(position).padStart(12, '0')}`;
  const claim = { position, stream, scope: 'posts.slug', value: value ?? '', isTaken: true };
  return {
    from: head.size,
    head: { ...head, size: position, root: Buffer.alloc(32, position) },
    events: [{ position, id, stream, version, header: `{"position":${position}}`, body }],
    claims: value === undefined ? [] : [claim],
    idempotencyRecords: [],
    erasures: [],
  };
}

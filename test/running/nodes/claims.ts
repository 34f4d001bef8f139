import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { openLogToRead } from '../../../events/store/log-file.ts';
import { logFile } from '../../../projections/tables/files.ts';
import type { TestDatabase } from '../../helpers/postgres.ts';
import type { Service } from '../../helpers/service.ts';
import { eventually } from '../../helpers/shared.ts';

/** The status and the body of `/ready`. */
export async function readyOf({ url }: Service): Promise<[status: number, body: { status: string }]> {
  const response = await fetch(`${url}/ready`);
  return [response.status, await response.json()];
}

export async function isReady(node: Service): Promise<boolean> {
  const [status] = await readyOf(node);
  return status === 200;
}

/** Waits until a condition holds. */
export async function comes(condition: () => Promise<boolean>): Promise<void> {
  await eventually(condition);
}

type Unique = { [slug: string]: readonly string[] };

/** Compares the claims in PostgreSQL and in the replicas of nodes with what documents have in unique fields. */
export async function assertClaims({ sql }: TestDatabase, nodes: readonly Service[], unique: Unique): Promise<void> {
  const [first] = nodes as [Service];
  const wanted: string[][] = [];
  for (const [slug, fields] of Object.entries(unique)) {
    for (let page = 1, last = 1; page <= last; page += 1) {
      const { body } = await first.call('GET', `/api/collections/${slug}?limit=500&page=${page}`);
      last = body.totalPages;
      for (const doc of body.docs)
        for (const field of fields)
          if (doc[field] != null) wanted.push([`${slug}.${field}`, JSON.stringify(doc[field]), `${slug}/${doc.id}`]);
    }
  }
  for (const node of nodes) assert.deepEqual(claimsOf(node), wanted.toSorted(byText));
  const [found] = await sql("SELECT encode(claim, 'hex') AS claim, stream FROM annals.claims");
  const hashed = wanted.map(([scope, value, stream]) => [hash('sha256', JSON.stringify([scope, value])), stream ?? '']);
  const rows = (found?.rows ?? []).map(({ claim, stream }) => [claim, stream]);
  assert.deepEqual(rows.toSorted(byText), hashed.toSorted(byText));
}

function claimsOf({ data }: Service): string[][] {
  const db = openLogToRead(logFile(data));
  try {
    const rows = db.prepare<[], { scope: string; value: string; stream: string }>('SELECT * FROM claims').all();
    return rows.map(({ scope, value, stream }) => [scope, value, stream]).toSorted(byText);
  } finally {
    db.close();
  }
}

function byText(one: readonly string[], other: readonly string[]): number {
  return one.join('\n') < other.join('\n') ? -1 : 1;
}

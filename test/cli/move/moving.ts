import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { TestDatabase } from '../../helpers/postgres.ts';
import { apiKey, runCommand, type Service } from '../../helpers/service.ts';
import { urlOf } from '../../running/nodes/node.ts';

/** Runs `annals log move` to its end. */
export function move(data: string, { address }: TestDatabase, ...more: string[]) {
  return runCommand(['log', 'move', '--to', urlOf(address), '--data', data, ...more]);
}

/**
 * Writes posts, one after the other in each of some lines, until it is stopped: gives the titles of those that were
 * acknowledged.
 */
export function writeTo(service: Service, lines = 4) {
  const acknowledged: { id: string; title: string }[] = [];
  const refused: { status: number; message: string }[] = [];
  let isOver = false;

  async function line(): Promise<void> {
    while (!isOver) {
      const title = randomUUID();
      const response = await fetch(`${service.url}/api/collections/posts`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-api-key': apiKey, 'idempotency-key': title },
        body: JSON.stringify({ title, slug: title }),
      });
      const body = (await response.json()) as { id: string; message: string };
      if (response.status === 201) acknowledged.push({ id: body.id, title });
      else {
        refused.push({ status: response.status, message: body.message });
        return;
      }
    }
  }

  const all = Promise.all(Array.from({ length: lines }, line));
  return {
    acknowledged,
    refused,
    /** Ends when all lines have ended: since they were told to, or refused. */
    ended: all,
    stop: async () => {
      isOver = true;
      await all;
    },
  };
}

/** Runs `annals log move --to sqlite` to its end. */
export function moveBack(data: string, { address }: TestDatabase) {
  return runCommand(['log', 'move', '--to', 'sqlite', '--data', data], {
    environment: { ANNALS_POSTGRES_URL: urlOf(address) },
  });
}

const tables = ['head', 'events', 'payloads', 'claims', 'commands', 'tiles'];

/** All rows of the tables of a log that every replica has, except the seal of its own vault. */
export function rowsOf(data: string): Record<string, unknown[]> {
  const db = new Database(join(data, 'log.db'), { readonly: true });
  try {
    const rows = (table: string) => {
      const all = db.prepare(`SELECT * FROM ${table}`).all() as Record<string, unknown>[];
      return all.map(({ mac: _, ...row }) => JSON.stringify(row)).sort();
    };
    const erasures = db.prepare('SELECT position FROM erasures').pluck().all();
    return { ...Object.fromEntries(tables.map((table) => [table, rows(table)])), erasures };
  } finally {
    db.close();
  }
}

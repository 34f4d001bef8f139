import { setTimeout as pause } from 'node:timers/promises';
import type { Read, Write } from './history.ts';

/** One answer, or null if none came. `version`: that of the ETag. */
export type Answer = { status: number; id: string | null; tag: string | null; version: number | null } | null;

/** A document as its session last knew it. */
type Known = { id: string; version: number };

export type Load = ReturnType<typeof startLoad>;

export const path = '/api/collections/things';

/** No node takes longer for an answer than this; a client that waits in vain asks another one. */
const patience = 8000;

/** How long a write is tried again while its outcome is unknown, in milliseconds. */
const stubbornness = 90_000;

/**
 * @param urls the nodes that a request can be sent to, now.
 * @param seen gets all that clients see.
 * @param surprises gets each answer that no client should get.
 */
export type LoadOptions = {
  urls: () => readonly string[];
  seen: (Write | Read)[];
  surprises: string[];
  headers: Record<string, string>;
};

/**
 * Sends a request once. @returns null for what tells nothing about its outcome: no answer, or that of a node that is
 * not able to.
 */
export async function ask(
  url: string,
  {
    method,
    path: at,
    body,
    headers,
  }: { method: string; path: string; body?: unknown; headers: Record<string, string> },
): Promise<Answer> {
  try {
    const response = await fetch(url + at, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      signal: AbortSignal.timeout(patience),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const found = (await response.json()) as { id?: string; note?: string | null; marker?: string };
    if ([500, 502, 503, 504].includes(response.status)) return null;
    const version = /^"(\d+)-/.exec(response.headers.get('etag') ?? '')?.[1];
    return {
      status: response.status,
      id: found.id ?? null,
      tag: found.note ?? found.marker ?? null,
      version: version === undefined ? null : Number(version),
    };
  } catch {
    return null;
  }
}

/**
 * Starts sessions that write and read until they are stopped, each one request after the other, each request to the
 * next node. Writes have a key and are repeated under it until they are decided. They create documents, some with a
 * unique value that others want as well, change those of their own, and try for the next version of one that all share.
 */
export function startLoad({ urls, seen, surprises, headers }: LoadOptions, names: readonly string[]) {
  let isStopped = false;
  let turn = 0;
  let wanted = 0;
  /** Of the document that all change: its id, when a session has made it. */
  let common: string | null = null;
  const all: Known[] = [];

  const next = () => {
    const those = urls();
    turn += 1;
    return those[turn % those.length] as string;
  };

  /** A write with all its repeats. */
  async function write(
    session: string,
    tag: string,
    request: { method: string; path: string; body: unknown; expected?: number },
  ): Promise<Answer> {
    const { expected, ...rest } = request;
    const condition = expected === undefined ? {} : { 'if-match': `"${expected}-x"` };
    const one: Write = {
      kind: 'write',
      session,
      tag,
      began: performance.now(),
      ended: 0,
      fate: 'unknown',
      ...(expected === undefined ? {} : { expected }),
    };
    let answer: Answer = null;
    while (answer === null) {
      answer = await ask(next(), { ...rest, headers: { ...headers, ...condition, 'idempotency-key': tag } });
      const tooLong = performance.now() - one.began > (isStopped ? patience : stubbornness);
      if (answer !== null || tooLong) break;
      await pause(20);
    }
    one.ended = performance.now();
    if (answer !== null) {
      one.fate = answer.status < 300 ? 'acknowledged' : 'refused';
      if (answer.status < 300) {
        if (answer.id !== null) one.stream = `things/${answer.id}`;
        if (answer.version !== null) one.version = answer.version;
      }
    }
    seen.push(one);
    return answer;
  }

  async function read(session: string, id: string): Promise<void> {
    const began = performance.now();
    const answer = await ask(next(), { method: 'GET', path: `${path}/${id}`, headers });
    if (answer === null) return;
    const [version, tag] = answer.status === 404 ? [0, null] : [answer.version ?? 0, answer.tag];
    if (![200, 404].includes(answer.status)) surprises.push(`a read was answered ${answer.status}`);
    seen.push({
      kind: 'read',
      session,
      stream: `things/${id}`,
      began,
      ended: performance.now(),
      version,
      tag,
      isLinear: true,
    });
  }

  async function runSession(session: string): Promise<void> {
    let own: Known | null = null;
    for (let number = 1; !isStopped; number += 1) {
      const tag = `${session}-${number}`;
      const dice = Math.random();
      if (own === null || dice < 0.25) {
        // Every second one wants what another has just got.
        const name = dice < 0.1 ? `wanted ${Math.floor(wanted / 2)}` : tag;
        wanted += dice < 0.1 ? 1 : 0;
        const answer = await write(session, tag, { method: 'POST', path, body: { marker: tag, name } });
        if (answer?.status === 201 && answer.id !== null) {
          own = { id: answer.id, version: 1 };
          all.push(own);
          common ??= answer.id;
        } else if (answer !== null && !(answer.status === 409 && name !== tag))
          surprises.push(`${tag} was answered ${answer.status}`);
      } else if (dice < 0.5) {
        const { id, version } = own;
        const change = { method: 'PATCH', path: `${path}/${id}`, body: { note: tag } };
        const answer = await write(session, tag, id === common ? change : { ...change, expected: version });
        if (answer?.status === 200) own.version = answer.version ?? version + 1;
        else if (answer === null) own = null;
        else surprises.push(`${tag} was answered ${answer.status}`);
      } else if (dice < 0.65 && common !== null) {
        const known = await ask(next(), { method: 'GET', path: `${path}/${common}`, headers });
        if (known?.status !== 200 || known.version === null) continue;
        const change = { method: 'PATCH', path: `${path}/${common}`, body: { note: tag }, expected: known.version };
        const answer = await write(session, tag, change);
        if (answer !== null && ![200, 412].includes(answer.status))
          surprises.push(`${tag} was answered ${answer.status}`);
      } else {
        const one =
          dice < 0.8 ? own : (all[all.length - 1 - Math.floor(Math.random() * Math.min(all.length, 10))] ?? own);
        await read(session, one.id);
      }
    }
  }

  const running = names.map((name) => runSession(name));
  const count = () =>
    seen.filter(({ kind, ...one }) => kind === 'write' && 'fate' in one && one.fate === 'acknowledged').length;
  return {
    /** The writes that were acknowledged so far. */
    count,
    async stop(): Promise<void> {
      isStopped = true;
      await Promise.all(running);
    },
  };
}

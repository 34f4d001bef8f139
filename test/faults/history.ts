import { checkOrder } from './history-order.ts';

/**
 * The end of a write as its client knows it: what was told to be done, what was told to be refused, and everything
 * else.
 */
export type Fate = 'acknowledged' | 'refused' | 'unknown';

/**
 * A write as a client saw it, with all repeats under its key; times are those of one clock for all clients. `tag` is a
 * text that no other write has, kept in what it recorded; several clients may send one with the same key, as `tag`.
 * `expected`: the version of its condition. `stream`, `version` and `position` are those of the answer, if it has them.
 */
export type Write = {
  kind: 'write';
  session: string;
  tag: string;
  began: number;
  ended: number;
  fate: Fate;
  stream?: string;
  version?: number;
  position?: number;
  expected?: number;
};

/** A read of one stream. `version` is 0 if the stream does not exist. A read that is not linear may be late. */
export type Read = {
  kind: 'read';
  session: string;
  began: number;
  ended: number;
  stream: string;
  version: number;
  tag: string | null;
  isLinear: boolean;
};

/**
 * An event of the log as it was found in the end. `takes`, `gives`: the unique values that the stream holds from then
 * on, or no more.
 */
export type Entry = {
  position: number;
  stream: string;
  version: number;
  tag: string | null;
  isEnd?: boolean;
  takes?: readonly string[];
  gives?: readonly string[];
};

export type History = { seen: readonly (Write | Read)[]; log: readonly Entry[] };

/**
 * All that is wrong, by kind; and what was counted. `decided`: how many unknown writes were recorded, and how many were
 * not.
 */
export type Verdict = {
  problems: string[];
  acknowledged: number;
  refused: number;
  reads: number;
  missing: number;
  twice: number;
  decided: { recorded: number; not: number };
};

/**
 * Holds what clients saw against the log. The log is the order of all that was done, so no order has to be searched
 * for: each acknowledged write is there once, at its place and in the order of time; refused ones are absent; each read
 * shows a beginning of the log, a linear one all that was acknowledged or seen before it began, and one of a session no
 * less than its session has seen.
 */
export function checkHistory({ seen, log }: History): Verdict {
  const problems: string[] = [];
  const writes = seen.filter((one) => one.kind === 'write');
  const reads = seen.filter((one) => one.kind === 'read');
  const found = Map.groupBy(
    log.filter(({ tag }) => tag !== null),
    ({ tag }) => tag as string,
  );
  checkLog(log, problems);
  const sent = Map.groupBy(writes, ({ tag }) => tag);
  let missing = 0;
  let twice = 0;
  const decided = { recorded: 0, not: 0 };
  for (const [tag, entries] of found) {
    if (!sent.has(tag)) problems.push(`${tag} is recorded, and no client wrote it`);
    if (entries.length === 1) continue;
    twice += 1;
    problems.push(`${tag} is recorded ${entries.length} times, at ${entries.map(({ position }) => position).join()}`);
  }
  for (const [tag, same] of sent) {
    const [entry] = found.get(tag) ?? [];
    const isAcknowledged = same.some(({ fate }) => fate === 'acknowledged');
    if (!entry && isAcknowledged) {
      missing += 1;
      problems.push(`${tag} was acknowledged, and is missing`);
    } else if (entry) checkPlace(same, entry, problems);
    if (!isAcknowledged && same.some(({ fate }) => fate === 'unknown')) decided[entry ? 'recorded' : 'not'] += 1;
  }
  checkOrder(writes, reads, log, problems);
  const count = (fate: Fate) => writes.filter((one) => one.fate === fate).length;
  return {
    problems,
    acknowledged: count('acknowledged'),
    refused: count('refused'),
    reads: reads.length,
    missing,
    twice,
    decided,
  };
}

/**
 * The log by itself: no gap, each stream from version 1 on and nothing behind its end, each unique value held by one
 * stream at a time.
 */
function checkLog(log: readonly Entry[], problems: string[]): void {
  const versions = new Map<string, number>();
  const ended = new Set<string>();
  const holders = new Map<string, string>();
  for (const [at, { position, stream, version, isEnd, takes = [], gives = [] }] of log.entries()) {
    if (position !== at + 1) problems.push(`position ${position} is in the place of ${at + 1}`);
    const before = versions.get(stream) ?? 0;
    if (version !== before + 1) problems.push(`${stream} has version ${version} after ${before}`);
    if (ended.has(stream)) problems.push(`${stream} has version ${version} after its end`);
    versions.set(stream, version);
    if (isEnd) ended.add(stream);
    for (const value of gives) if (holders.get(value) === stream) holders.delete(value);
    for (const value of takes) {
      const holder = holders.get(value) ?? stream;
      if (holder !== stream) problems.push(`${stream} takes ${value} at ${position}, which ${holder} holds`);
      holders.set(value, stream);
    }
  }
}

/** The answers to one write, of which several may have been given, and the event that it recorded. */
function checkPlace(same: readonly Write[], entry: Entry, problems: string[]): void {
  const { tag, position, stream, version } = entry;
  // Several clients may send one write: it counts as refused only if each of them was refused.
  if (same.every(({ fate }) => fate === 'refused')) problems.push(`${tag} was refused, and is recorded at ${position}`);
  for (const write of same) {
    if (write.expected !== undefined && version !== write.expected + 1)
      problems.push(`${tag} was for version ${write.expected}, and is recorded as version ${version}`);
    if (write.fate !== 'acknowledged') continue;
    for (const [name, told, is] of [
      ['position', write.position, position],
      ['stream', write.stream, stream],
      ['version', write.version, version],
    ] as const) {
      if (told !== undefined && told !== is) problems.push(`${tag} was told ${name} ${told}, and has ${is}`);
    }
  }
}

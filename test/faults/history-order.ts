import type { Entry, Read, Write } from './history.ts';

/** The positions of a stream's versions, and the sizes of the log at which each version is the newest. */
type Timeline = { versions: Map<number, Entry>; spans: { version: number; from: number; to: number }[] };

/**
 * Times: what came first is at a lower position, and a read shows no less than what came before it, and nothing from
 * the future.
 */
export function checkOrder(
  writes: readonly Write[],
  reads: readonly Read[],
  log: readonly Entry[],
  problems: string[],
): void {
  const positions = new Map(log.map(({ tag, position }) => [tag, position]));
  const began = startsOf(writes, log);
  const timelines = timelinesOf(log);
  const floor = openFloor(
    writes.flatMap(({ fate, tag, ended, session }) => {
      const position = positions.get(tag);
      return fate === 'acknowledged' && position !== undefined ? [{ at: ended, position, session, label: tag }] : [];
    }),
  );

  for (const one of [...writes, ...reads].toSorted((left, right) => left.began - right.began)) {
    floor.advance(one.began);
    if (one.kind === 'write') {
      const position = positions.get(one.tag);
      const first = began.get(one.tag);
      // The first of several that sent it: later ones may come when it is long there.
      if (position === undefined || first !== one.began) continue;
      const before = floor.all();
      if (before && before.position >= position)
        problems.push(`${one.tag} began after ${before.label} had ended, and is before it: at ${position}`);
      continue;
    }
    const shown = `${one.session} read ${one.stream} at version ${one.version}`;
    const must = one.isLinear ? floor.all() : floor.of(one.session);
    const timeline = timelines.get(one.stream);
    const entry = timeline?.versions.get(one.version);
    if (one.version > 0 && entry?.tag !== one.tag) {
      problems.push(`${shown} with ${one.tag}, and that has ${entry ? entry.tag : 'never been'}`);
      continue;
    }
    const least = must?.position ?? 0;
    const spans = timeline?.spans ?? [{ version: 0, from: 0, to: Number.POSITIVE_INFINITY }];
    const span = spans.find(({ version, to }) => version === one.version && to >= least);
    if (!span) {
      problems.push(`${shown}, after ${must?.label} at ${least} was ${one.isLinear ? 'known' : 'seen by its session'}`);
      continue;
    }
    const position = Math.max(span.from, least);
    if (startOf(began, log, position) > one.ended) problems.push(`${shown} before position ${position} could be there`);
    floor.add({ at: one.ended, position, session: one.session, label: `a read by ${one.session}` });
  }
}

/** When each write was first sent. */
function startsOf(writes: readonly Write[], log: readonly Entry[]): Map<string | null, number> {
  const began = new Map<string | null, number>();
  for (const { tag } of log) began.set(tag, Number.NEGATIVE_INFINITY);
  const sent = new Set<string>();
  for (const { tag, began: at } of writes) {
    began.set(tag, sent.has(tag) ? Math.min(began.get(tag) as number, at) : at);
    sent.add(tag);
  }
  return began;
}

function startOf(began: ReadonlyMap<string | null, number>, log: readonly Entry[], position: number): number {
  const entry = log[position - 1];
  return entry ? (began.get(entry.tag) ?? Number.NEGATIVE_INFINITY) : Number.NEGATIVE_INFINITY;
}

function timelinesOf(log: readonly Entry[]): Map<string, Timeline> {
  const timelines = new Map<string, Timeline>();
  for (const entry of log) {
    const { stream, position, isEnd } = entry;
    const timeline = timelines.get(stream) ?? {
      versions: new Map(),
      spans: [{ version: 0, from: 0, to: Number.POSITIVE_INFINITY }],
    };
    timelines.set(stream, timeline);
    (timeline.spans.at(-1) as { to: number }).to = position - 1;
    timeline.spans.push({ version: isEnd ? 0 : entry.version, from: position, to: Number.POSITIVE_INFINITY });
    if (!isEnd) timeline.versions.set(entry.version, entry);
  }
  return timelines;
}

/** A position that is known to be in the log from a moment on, first to one session. */
type Known = { at: number; position: number; session: string; label: string };

/**
 * The furthest position that was known at a moment, to anyone and to each session; moments only grow. @param written by
 * writes.
 */
function openFloor(written: readonly Known[]) {
  const sorted = written.toSorted((one, other) => one.at - other.at);
  let next = 0;
  let read: Known[] = [];
  let all: Known | null = null;
  const bySession = new Map<string, Known>();

  function take(one: Known): void {
    if (one.position > (all?.position ?? 0)) all = one;
    if (one.position > (bySession.get(one.session)?.position ?? 0)) bySession.set(one.session, one);
  }

  return {
    /** To be called in the order in which reads began. */
    add: (one: Known) => read.push(one),
    advance(moment: number): void {
      for (let one = sorted[next]; one && one.at < moment; one = sorted[next]) {
        take(one);
        next += 1;
      }
      for (const one of read) if (one.at < moment) take(one);
      read = read.filter(({ at }) => at >= moment);
    },
    all: () => all as Known | null,
    of: (session: string) => bySession.get(session),
  };
}

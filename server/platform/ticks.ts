type Look = { run: () => void; milliseconds: number; due: number };

/** Those of this thread. */
const looks = new Set<Look>();
let timer: NodeJS.Timeout | null = null;
let next = Number.POSITIVE_INFINITY;

/**
 * Calls a function again and again, as `setInterval` does, at whole multiples of its time: what looks each second and
 * what looks every ten seconds do so together, and the thread wakes up once. A thread at rest costs what its wake-ups
 * cost, each 0.1 ms of CPU. The first call comes after once to twice the time. It keeps no process from ending.
 *
 * @returns ends it.
 */
export function every(milliseconds: number, run: () => void): () => void {
  const look = { run, milliseconds, due: dueAfter(performance.now() + milliseconds, milliseconds) };
  looks.add(look);
  if (look.due < next) arm();
  return () => {
    looks.delete(look);
    if (looks.size === 0) arm();
  };
}

function arm(): void {
  if (timer) clearTimeout(timer);
  next = Math.min(...looks.values().map(({ due }) => due));
  // A timer of Node may come some of a millisecond early.
  timer = looks.size === 0 ? null : setTimeout(tick, Math.max(Math.ceil(next - performance.now()), 1)).unref();
}

/** After a process stood still each is called once, however often it would have been. */
function tick(): void {
  const now = performance.now();
  const due = [...looks].filter((look) => look.due <= now);
  for (const look of due) look.due = dueAfter(now, look.milliseconds);
  arm();
  // One that throws ends the process, or is caught there: the others look again.
  for (const look of due) if (looks.has(look)) look.run();
}

function dueAfter(now: number, milliseconds: number): number {
  return (Math.floor(now / milliseconds) + 1) * milliseconds;
}

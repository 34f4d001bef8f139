/** A ticket of the queue: `line` names the caller, `key` excludes tasks from running at the same time; null: none. */
type Ticket = { line: string; key: string | null };

/** A fair queue: callers take turns. */
export type FairQueue = {
  /** Runs a task at its turn, one at a time for each key; resolves with null if too many tasks wait. */
  take: <T>(ticket: Ticket, task: () => Promise<T>) => Promise<T | null>;
  /** Rejects all tasks that wait. */
  close: () => void;
};

type Options = {
  /** How many tasks run at once. */
  width: number;
  /** How many tasks may wait, of one key and in all. */
  maxWaiting: { key: number; all: number };
};

type Waiting = Ticket & { begin: () => Promise<void>; refuse: () => void; reject: (error: Error) => void };

/**
 * Creates a queue that is fair between lines: the next task comes from the line with the fewest running tasks; among
 * these, from the line that has waited longest since its last task. So a flood in one line does not delay the others. A
 * full queue drops the last task of its longest line.
 */
export function createFairQueue({ width, maxWaiting }: Options): FairQueue {
  // After a task of a line has begun, the line moves to the end of the map: the order of the map is the order of turns.
  const lines = new Map<string, Waiting[]>();
  const running: Ticket[] = [];
  let waiting = 0;
  let isClosed = false;

  function take<T>(ticket: Ticket, task: () => Promise<T>): Promise<T | null> {
    if (isClosed) return Promise.reject(closedError());
    if (!makeRoom(ticket)) return Promise.resolve(null);
    return new Promise((resolve, reject) => {
      const line = lines.get(ticket.line) ?? [];
      line.push({ ...ticket, begin: () => task().then(resolve, reject), refuse: () => resolve(null), reject });
      lines.set(ticket.line, line);
      waiting += 1;
      next();
    });
  }

  function makeRoom({ line, key }: Ticket): boolean {
    const own = lines.get(line) ?? [];
    if (key !== null && own.filter((one) => one.key === key).length >= maxWaiting.key) return false;
    if (waiting < maxWaiting.all) return true;
    const longest = [...lines.values()].reduce((a, b) => (b.length > a.length ? b : a));
    if (longest.length <= own.length + 1) return false;
    waiting -= 1;
    longest.pop()?.refuse();
    return true;
  }

  function next(): void {
    while (running.length < width) {
      const first = choose();
      if (!first) return;
      begin(first);
    }
  }

  function choose(): Waiting | null {
    const candidates = [...lines].flatMap(([name, line]) => {
      const first = line.find(({ key }) => key === null || !running.some((one) => one.key === key));
      return first ? [{ first, busy: running.filter((one) => one.line === name).length }] : [];
    });
    if (candidates.length === 0) return null;
    return candidates.reduce((a, b) => (b.busy < a.busy ? b : a)).first;
  }

  function begin(one: Waiting): void {
    const line = (lines.get(one.line) ?? []).filter((other) => other !== one);
    lines.delete(one.line);
    if (line.length > 0) lines.set(one.line, line);
    waiting -= 1;
    running.push(one);
    one.begin().finally(() => end(one));
  }

  /** After a task, its line moves to the end of the lines, and tasks with its key to the end of the line. */
  function end(one: Waiting): void {
    running.splice(running.indexOf(one), 1);
    const line = lines.get(one.line);
    if (line) {
      lines.delete(one.line);
      const isSame = ({ key }: Ticket) => key !== null && key === one.key;
      lines.set(one.line, [...line.filter((other) => !isSame(other)), ...line.filter(isSame)]);
    }
    next();
  }

  function close(): void {
    isClosed = true;
    for (const { reject } of [...lines.values()].flat()) reject(closedError());
    lines.clear();
    waiting = 0;
  }

  return { take, close };
}

function closedError(): Error {
  return new Error('nothing more is taken up: the service is ending');
}

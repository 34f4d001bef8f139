/** Takes tasks line by line in turn. */
export type Turns = {
  /** Does a task when it is its turn; gives null when too many wait. One at a time of each line. */
  take: <T>(line: string, task: () => Promise<T>) => Promise<T | null>;
  /** Rejects all that waits. */
  close: () => void;
};

type Options = {
  /** How many are done at once. */
  width: number;
  /** How many may wait, in one line and in all. */
  maxWaiting: { line: number; all: number };
};

type Waiting = { begin: () => Promise<void>; refuse: () => void; reject: (error: Error) => void };

/**
 * Turns that are fair between lines: each line with something to do has one task done before any has its second, so that a
 * flood in one line does not hold up the others. When there is no more room, the longest line gives up its last.
 */
export function createTurns({ width, maxWaiting }: Options): Turns {
  // A line whose turn is over goes to the end of the map, so its order is the order of turns.
  const lines = new Map<string, Waiting[]>();
  const running = new Set<string>();
  let waiting = 0;
  let isClosed = false;

  function take<T>(name: string, task: () => Promise<T>): Promise<T | null> {
    if (isClosed) return Promise.reject(closedError());
    if (!makeRoom(name)) return Promise.resolve(null);
    return new Promise((resolve, reject) => {
      const line = lines.get(name) ?? [];
      line.push({ begin: () => task().then(resolve, reject), refuse: () => resolve(null), reject });
      lines.set(name, line);
      waiting += 1;
      next();
    });
  }

  function makeRoom(name: string): boolean {
    const own = lines.get(name)?.length ?? 0;
    if (own >= maxWaiting.line) return false;
    if (waiting < maxWaiting.all) return true;
    const longest = [...lines.values()].reduce((a, b) => (b.length > a.length ? b : a));
    if (longest.length <= own + 1) return false;
    waiting -= 1;
    longest.pop()?.refuse();
    return true;
  }

  function next(): void {
    while (running.size < width) {
      const name = lines.keys().find((each) => !running.has(each));
      if (name === undefined) return;
      begin(name);
    }
  }

  function begin(name: string): void {
    const line = lines.get(name) as Waiting[];
    const first = line.shift() as Waiting;
    if (line.length === 0) lines.delete(name);
    waiting -= 1;
    running.add(name);
    first.begin().finally(() => end(name));
  }

  function end(name: string): void {
    running.delete(name);
    const line = lines.get(name);
    if (line) {
      lines.delete(name);
      lines.set(name, line);
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
  return new Error('no more passwords are looked at: the service is ending');
}

/** A ticket of the queue: `key` excludes tasks from running at the same time; null: none. */
type Ticket = { caller: string; key: string | null };

/** A queue that is fair between callers. */
export type FairQueue = {
  /** Runs a task, one at a time for each key; resolves with null if too many tasks wait. */
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

type WaitingTask = Ticket & { begin: () => Promise<void>; refuse: () => void; reject: (error: Error) => void };

/**
 * Creates a queue that is fair between callers: the next task is from the caller with the fewest running tasks; among
 * these, from the caller that has waited longest since its last task. So a flood of one caller does not delay the
 * others. If the queue is full, the caller with the most waiting tasks loses its last one.
 */
export function createFairQueue({ width, maxWaiting }: Options): FairQueue {
  // In the order in which the callers come next: after a task has begun, its caller moves to the end of the map.
  const queues = new Map<string, WaitingTask[]>();
  const running: Ticket[] = [];
  let waiting = 0;
  let isClosed = false;

  function take<T>(ticket: Ticket, task: () => Promise<T>): Promise<T | null> {
    if (isClosed) return Promise.reject(closedError());
    if (!makeRoom(ticket)) return Promise.resolve(null);
    return new Promise((resolve, reject) => {
      const queue = queues.get(ticket.caller) ?? [];
      queue.push({ ...ticket, begin: () => task().then(resolve, reject), refuse: () => resolve(null), reject });
      queues.set(ticket.caller, queue);
      waiting += 1;
      next();
    });
  }

  function makeRoom({ caller, key }: Ticket): boolean {
    const own = queues.get(caller) ?? [];
    if (key !== null && own.filter((one) => one.key === key).length >= maxWaiting.key) return false;
    if (waiting < maxWaiting.all) return true;
    const longest = [...queues.values()].reduce((a, b) => (b.length > a.length ? b : a));
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

  function choose(): WaitingTask | null {
    const candidates = [...queues].flatMap(([name, queue]) => {
      const first = queue.find(({ key }) => key === null || !running.some((one) => one.key === key));
      return first ? [{ first, busy: running.filter((one) => one.caller === name).length }] : [];
    });
    if (candidates.length === 0) return null;
    return candidates.reduce((a, b) => (b.busy < a.busy ? b : a)).first;
  }

  function begin(one: WaitingTask): void {
    const queue = (queues.get(one.caller) ?? []).filter((other) => other !== one);
    queues.delete(one.caller);
    if (queue.length > 0) queues.set(one.caller, queue);
    waiting -= 1;
    running.push(one);
    one.begin().finally(() => end(one));
  }

  /** After a task, its caller moves to the end of the map, and tasks with its key to the end of the caller's queue. */
  function end(one: WaitingTask): void {
    running.splice(running.indexOf(one), 1);
    const queue = queues.get(one.caller);
    if (queue) {
      queues.delete(one.caller);
      const isSame = ({ key }: Ticket) => key !== null && key === one.key;
      queues.set(one.caller, [...queue.filter((other) => !isSame(other)), ...queue.filter(isSame)]);
    }
    next();
  }

  function close(): void {
    isClosed = true;
    for (const { reject } of [...queues.values()].flat()) reject(closedError());
    queues.clear();
    waiting = 0;
  }

  return { take, close };
}

function closedError(): Error {
  return new Error('nothing more is taken up: the service is ending');
}

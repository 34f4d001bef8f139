/**
 * A file on its way to the service.
 * - `asked`: it waits for required texts
 * - `waiting`: it waits for the files before it
 * - `sent`: the answer has come
 */
export type Sending<Item, Answer> = {
  key: number;
  item: Item;
  data: Record<string, string>;
  state: 'asked' | 'waiting' | 'sending' | 'failed' | 'sent';
  /** The share that is sent, from 0 to 1. */
  share: number;
  problem: string | null;
  /** True if it was not sent at all, and another attempt would not help. */
  isRefused: boolean;
  /** The problems of its texts, by the name of the field. */
  problems: Record<string, string>;
  answer: Answer | null;
};

/** A change of the queue. */
export type Change<Item, Answer> =
  | { type: 'add'; items: { key: number; item: Item; isAsked: boolean; problem: string | null }[] }
  | { type: 'start' | 'remove' | 'clear'; key: number }
  | { type: 'progress'; key: number; share: number }
  | { type: 'send'; key: number; data: Record<string, string> }
  | { type: 'fail'; key: number; problem: string; problems: Record<string, string> }
  | { type: 'finish'; key: number; answer: Answer };

type Queue<Item, Answer> = readonly Sending<Item, Answer>[];

/** The queue after a change. A change of a file that was cancelled meanwhile is ignored. */
export function changed<Item, Answer>(queue: Queue<Item, Answer>, change: Change<Item, Answer>): Queue<Item, Answer> {
  const edit = (key: number, members: Partial<Sending<Item, Answer>>) =>
    queue.map((one) => (one.key === key ? { ...one, ...members } : one));
  switch (change.type) {
    case 'add':
      return [...queue, ...change.items.map(newSending<Item, Answer>)];
    case 'start':
      return edit(change.key, { state: 'sending', share: 0, problem: null, problems: {} });
    case 'progress':
      return edit(change.key, { share: change.share });
    case 'send':
      return edit(change.key, { state: 'waiting', data: change.data, problem: null, problems: {} });
    case 'fail':
      return edit(change.key, { state: 'failed', problem: change.problem, problems: change.problems });
    case 'finish':
      return edit(change.key, { state: 'sent', share: 1, answer: change.answer });
    case 'remove':
      return queue.filter(({ key }) => key !== change.key);
    case 'clear':
      return queue.filter(({ state }) => state !== 'sent');
  }
}

function newSending<Item, Answer>(added: {
  key: number;
  item: Item;
  isAsked: boolean;
  problem: string | null;
}): Sending<Item, Answer> {
  const { key, item, isAsked, problem } = added;
  const state = problem !== null ? 'failed' : isAsked ? 'asked' : 'waiting';
  return { key, item, data: {}, state, share: 0, problem, isRefused: problem !== null, problems: {}, answer: null };
}

/** The files to start now, so that at most `most` are being sent at once. */
export function nextOf<Item, Answer>(queue: Queue<Item, Answer>, most = 3): Sending<Item, Answer>[] {
  const busy = queue.filter(({ state }) => state === 'sending').length;
  return queue.filter(({ state }) => state === 'waiting').slice(0, Math.max(0, most - busy));
}

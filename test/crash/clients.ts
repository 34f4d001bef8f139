import type { Answer } from '../helpers/service.ts';

/** Calls the service; rejects when the connection breaks, which leaves open whether the write was recorded. */
export type Call = (method: string, path: string, body?: unknown) => Promise<Answer>;

/** A value that a write tried to bring, and whether it was acknowledged. */
export type Attempt = { value: string; isAcknowledged: boolean };

/** Everything that was ever tried on one document. */
export type Story = {
  /** Unique for ever: how the document is found again when the answer that had its id was lost. */
  marker: string;
  created: Attempt;
  /** Null until an answer, or a look after a crash, has told it. */
  id: string | null;
  /** Patches of `note`, in the order in which they were sent. */
  notes: Attempt[];
  deleted: Attempt | null;
};

export const path = '/api/collections/things';

/** The fields that a story's document never changes: derived from its marker, so that half a write would show. */
export function bodyOf(marker: string) {
  const [round = 0, client = 0, number = 0] = marker.split('-').map(Number);
  return { marker, twin: `twin of ${marker}`, text: marker.repeat(1 + (number % 60)), sum: round + client + number };
}

type Client = { name: string; own: Story[]; hot: Story; random: () => number };

/**
 * Writes one request after the other, until the service is gone: mostly to its own documents, some to the shared one.
 */
export async function runClient(call: Call, { name, own, hot, random }: Client): Promise<void> {
  for (let number = 1; ; number += 1) {
    const value = `${name}-${number}`;
    const story = pick(own, random);
    const dice = random();
    let isAnswered: boolean;
    if (dice < 0.1) isAnswered = await patch(call, hot, value);
    else if (!story || dice < 0.55) isAnswered = await create(call, value, own);
    else if (dice < 0.85) isAnswered = await patch(call, story, value);
    else isAnswered = await remove(call, story);
    if (!isAnswered) return;
  }
}

/** One of the newest documents that are there, so that patches and deletes follow close on creates. */
function pick(stories: readonly Story[], random: () => number): Story | undefined {
  const living = stories.slice(-40).filter(({ id, deleted }) => id !== null && deleted === null);
  return living[Math.floor(random() * living.length)];
}

/** Creates the document of a marker; false when the service is gone. */
export async function create(call: Call, marker: string, stories: Story[]): Promise<boolean> {
  const created: Attempt = { value: marker, isAcknowledged: false };
  const story: Story = { marker, created, id: null, notes: [], deleted: null };
  stories.push(story);
  return attempt(created, 201, async () => {
    const answer = await call('POST', path, bodyOf(marker));
    if (answer.status === 201) story.id = answer.body.id;
    return answer;
  });
}

async function patch(call: Call, story: Story, value: string): Promise<boolean> {
  const note: Attempt = { value, isAcknowledged: false };
  story.notes.push(note);
  return attempt(note, 200, () => call('PATCH', `${path}/${story.id}`, { note: value }));
}

async function remove(call: Call, story: Story): Promise<boolean> {
  story.deleted = { value: '', isAcknowledged: false };
  return attempt(story.deleted, 200, () => call('DELETE', `${path}/${story.id}`));
}

/** @returns false when the service is gone. @throws Error on any other answer: nothing here is refused. */
async function attempt(made: Attempt, status: number, send: () => Promise<Answer>): Promise<boolean> {
  const answer = await send().catch(() => null);
  if (answer === null) return false;
  if (answer.status !== status) throw new Error(`answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  made.isAcknowledged = true;
  return true;
}

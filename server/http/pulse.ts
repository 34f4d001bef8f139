import type { Request } from '@hapi/hapi';
import { requestId } from './requests.ts';

/** The state of a thread in shared memory, readable when it is stuck: that it goes on, and its current request. */
export type Pulse = SharedArrayBuffer;

/** A request that a thread is at, and how many others it has in hand. */
export type Noted = { requestId: string; method: string; path: string; site?: string; others: number };

declare module '@hapi/hapi' {
  interface ServerApplicationState {
    /** Which of the sites of this process the server is of; absent where there is but one. */
    site?: string;
  }
  interface RequestApplicationState {
    noted?: Note;
  }
}

/** Only the shown part of a request, since the holder may last for long. */
type Note = { text: string; isOver: boolean };

/** Before the text: how often it was beaten, how many requests are in hand, how long the text is. */
const headBytes = 3 * Int32Array.BYTES_PER_ELEMENT;
const textBytes = 512;
/** Paths are shown up to so many characters. */
const maxPath = 200;
/** How many notes of requests that are over are kept at least: to look through all costs as many looks. */
const spareNotes = 64;

/** That of this thread; null in one that is not watched. */
let shown: { head: Int32Array; text: Buffer } | null = null;
/** In the order in which they came; of those that are over some are left. */
let notes: Note[] = [];
let latest: Note | null = null;

/** Makes one for a thread that is about to start. */
export function createPulse(): Pulse {
  return new SharedArrayBuffer(headBytes + textBytes);
}

/**
 * From now on this thread shows that it goes on: each request that begins or ends is a beat, so that one with much to
 * do is not taken for stuck. No timer beats, for a thread at rest would wake up for it: the watch asks for a {@link
 * beat}.
 */
export function showPulse(pulse: Pulse): void {
  shown = { head: headOf(pulse), text: Buffer.from(pulse, headBytes) };
}

/** One beat of this thread, because it was asked whether it goes on. */
export function beat(): void {
  if (shown) Atomics.add(shown.head, 0, 1);
}

/**
 * Notes which request this thread is at: called when it takes one up, and again before it runs what the author wrote
 * for it. When that request is over, the thread is at the one that came last of those it still has in hand.
 */
export function noteRequest(request: Request): void {
  if (!shown) return;
  const note = request.app.noted ?? taken(request, shown.head);
  if (note !== latest) show(note);
}

function taken(request: Request, head: Int32Array): Note {
  const { method, path, server } = request;
  const text = `${requestId(request)}\n${method}\n${path.slice(0, maxPath)}\n${server.app.site ?? ''}`;
  const note = { text, isOver: false };
  request.app.noted = note;
  notes.push(note);
  Atomics.add(head, 0, 1);
  head[1] = (head[1] ?? 0) + 1;
  request.raw.res.on('close', () => {
    note.isOver = true;
    Atomics.add(head, 0, 1);
    head[1] = (head[1] ?? 0) - 1;
    while (notes.at(-1)?.isOver) notes.pop();
    // Requests that overlap without a gap would leave all that are over before the last.
    if (notes.length > 2 * (head[1] ?? 0) + spareNotes) notes = notes.filter(({ isOver }) => !isOver);
    if (note === latest) show(notes.at(-1) ?? null);
  });
  return note;
}

function show(note: Note | null): void {
  latest = note;
  if (shown) shown.head[2] = note ? shown.text.write(note.text, 'latin1') : 0;
}

/** How often a thread has shown that it goes on. */
export function beatsOf(pulse: Pulse): number {
  return Atomics.load(headOf(pulse), 0);
}

/** The request that a thread is at, which is stuck, for else it would change meanwhile; null when it is at none. */
export function notedIn(pulse: Pulse): Noted | null {
  const [, inHand = 0, length = 0] = headOf(pulse);
  if (length === 0) return null;
  const text = Buffer.from(pulse, headBytes, length).toString('latin1');
  const [requestId = '', method = '', path = '', site = ''] = text.split('\n');
  return { requestId, method: method.toUpperCase(), path, ...(site !== '' && { site }), others: inHand - 1 };
}

function headOf(pulse: Pulse): Int32Array {
  return new Int32Array(pulse, 0, headBytes / Int32Array.BYTES_PER_ELEMENT);
}

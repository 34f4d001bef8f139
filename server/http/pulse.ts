import type { Request } from '@hapi/hapi';
import { requestId } from './requests.ts';

/** The state of a thread in shared memory, readable when the thread is stuck: a count of beats, and its request. */
export type Pulse = SharedArrayBuffer;

/** The current request of a thread, and how many others it has in hand. */
type CurrentRequest = { requestId: string; method: string; path: string; site?: string; others: number };

declare module '@hapi/hapi' {
  interface ServerApplicationState {
    /** The site of the server; absent if the process has only one. */
    site?: string;
  }
  interface RequestApplicationState {
    noted?: Note;
  }
}

/** The shown part of a request: a note may be in memory longer than the request. */
type Note = { text: string; isOver: boolean };

/** The head before the text: the number of beats, of requests in hand, of bytes of the text. */
const headBytes = 3 * Int32Array.BYTES_PER_ELEMENT;
const textBytes = 512;
/** How many characters of a path are shown. */
const maxPath = 200;
/** How many notes of finished requests are kept at least: a cleaning looks at every note. */
const spareNotes = 64;

/** The pulse of this thread; null if the thread is not watched. */
let shown: { head: Int32Array; text: Buffer } | null = null;
/** The requests of this thread in the order in which they came; some are finished. */
let notes: Note[] = [];
let latest: Note | null = null;

/** Makes the pulse of a thread that is about to start. */
export function createPulse(): Pulse {
  return new SharedArrayBuffer(headBytes + textBytes);
}

/**
 * From now on this thread shows that it is alive: each request that begins or ends is a beat, so that a busy thread is
 * not taken for stuck. There is no timer, which would wake a thread at rest: the watch asks for a {@link beat}.
 */
export function showPulse(pulse: Pulse): void {
  shown = { head: headOf(pulse), text: Buffer.from(pulse, headBytes) };
}

/** Beats once, since the watch asked. */
export function beat(): void {
  if (shown) Atomics.add(shown.head, 0, 1);
}

/**
 * Notes the current request of this thread: called when a request begins, and again before code of the author runs for
 * it. When that request is over, the current one is the last that came of those in hand.
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
    // If requests always overlap, finished ones would stay before the last one.
    if (notes.length > 2 * (head[1] ?? 0) + spareNotes) notes = notes.filter(({ isOver }) => !isOver);
    if (note === latest) show(notes.at(-1) ?? null);
  });
  return note;
}

function show(note: Note | null): void {
  latest = note;
  if (shown) shown.head[2] = note ? shown.text.write(note.text, 'latin1') : 0;
}

/** The number of beats of a thread. */
export function beatsOf(pulse: Pulse): number {
  return Atomics.load(headOf(pulse), 0);
}

/** The current request of a thread that is stuck: otherwise it would change while it is read. Null at rest. */
export function notedIn(pulse: Pulse): CurrentRequest | null {
  const [, inHand = 0, length = 0] = headOf(pulse);
  if (length === 0) return null;
  const text = Buffer.from(pulse, headBytes, length).toString('latin1');
  const [requestId = '', method = '', path = '', site = ''] = text.split('\n');
  return { requestId, method: method.toUpperCase(), path, ...(site !== '' && { site }), others: inHand - 1 };
}

function headOf(pulse: Pulse): Int32Array {
  return new Int32Array(pulse, 0, headBytes / Int32Array.BYTES_PER_ELEMENT);
}

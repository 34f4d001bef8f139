import type { WriterMessage } from './messages.ts';
import { writerEnded } from './waiting.ts';

/** A message that answers an order. */
type Reply = Extract<WriterMessage, { kind: 'settled' | 'kept' | 'scrubbed' | 'adopted' | 'segment' }>;
export type ReplyKind = Reply['kind'];
export type ReplyOf<K extends ReplyKind> = Extract<Reply, { kind: K }>;
type WaitingReplies = { [kind in ReplyKind]: PromiseWithResolvers<ReplyOf<kind>>[] };

export type Replies = ReturnType<typeof openReplies>;

/** The orders that wait for a reply: the writer replies to orders of one kind in their order. */
export function openReplies() {
  const waiting: WaitingReplies = { settled: [], kept: [], scrubbed: [], adopted: [], segment: [] };
  let isOver = false;

  return {
    /** Waits for the next reply of a kind. @throws DomainError `unavailable` if the writer ends before. */
    next<K extends ReplyKind>(kind: K): Promise<ReplyOf<K>> {
      if (isOver) return Promise.reject(writerEnded());
      const reply = Promise.withResolvers<ReplyOf<K>>();
      const list: PromiseWithResolvers<ReplyOf<K>>[] = waiting[kind];
      list.push(reply);
      return reply.promise;
    },
    /** Gives a reply to the order that has waited longest for one of its kind. */
    settle(reply: Reply): void {
      const list = waiting[reply.kind] as PromiseWithResolvers<Reply>[];
      list.shift()?.resolve(reply);
    },
    /** Refuses all orders that wait, and all further ones. */
    refuse(): void {
      isOver = true;
      for (const list of Object.values(waiting)) for (const { reject } of list.splice(0)) reject(writerEnded());
    },
  };
}

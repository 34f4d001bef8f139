import { useCallback, useEffect, useReducer, useRef } from 'react';
import { sizeOf } from '../../../parts/sizes.ts';
import type { Collection } from '../../../schema/model.ts';
import { client } from '../../../service/client.ts';
import { forget, messageOf } from '../../../service/queries.ts';
import { useLanguage, useWords } from '../../../words/index.ts';
import { askedFields, type FileDocument, isNeeded, isTooLarge, withoutReason, wrongTypeOf } from '../files.ts';
import { type Change, changed, nextOf, type Sending } from './queue.ts';
import { problemsOf } from './saving.ts';

/** A file on its way, and the document made of it. */
export type FileSending = Sending<File, FileDocument>;

type Options = {
  /** The document whose file is replaced; absent for new documents. */
  replaced?: string | undefined;
  onSent?: (document: FileDocument) => void;
};

type Queue = readonly FileSending[];

let lastKey = 0;

/** Sends files to a collection, several at once, each with its own progress and error. */
export function useQueue(collection: Collection, { replaced, onSent }: Options = {}) {
  const [queue, change] = useReducer(changed<File, FileDocument> as (queue: Queue, change: AnyChange) => Queue, []);
  const refusalOf = useRefusal(collection);
  const aborts = useRef(new Map<number, AbortController>());
  const sent = useRef(onSent);
  sent.current = onSent;

  const send = useCallback(
    async ({ key, item, data: texts }: FileSending) => {
      const { data, reason } = withoutReason(texts);
      const abort = new AbortController();
      aborts.current.set(key, abort);
      change({ type: 'start', key });
      const options = {
        ...reason,
        signal: abort.signal,
        onProgress: ({ sent, total }: { sent: number; total: number | null }) =>
          change({ type: 'progress', key, share: total ? sent / total : 0 }),
      };
      try {
        const files = client.collection(collection.slug);
        const document: FileDocument = await (replaced === undefined
          ? files.upload(item, data, options)
          : files.replaceFile(replaced, item, data, options));
        change({ type: 'finish', key, answer: document });
        sent.current?.(document);
        await forget(collection.slug);
      } catch (error) {
        if (!abort.signal.aborted)
          change({ type: 'fail', key, problem: messageOf(error), problems: problemsOf(error).problems });
      } finally {
        aborts.current.delete(key);
      }
    },
    [collection.slug, replaced],
  );

  useEffect(() => {
    for (const one of nextOf(queue)) void send(one);
  }, [queue, send]);
  // After the page is left, nothing can show how an upload ended.
  useEffect(() => {
    const all = aborts.current;
    return () => {
      for (const abort of all.values()) abort.abort();
    };
  }, []);

  return {
    queue,
    add: async (files: Iterable<File>) => {
      const hasNeeds = replaced === undefined && askedFields(collection).some(isNeeded);
      const isAsked = hasNeeds || collection.requireReason;
      const items = await Promise.all(
        [...files].map(async (item) => ({ key: ++lastKey, item, isAsked, problem: await refusalOf(item) })),
      );
      change({ type: 'add', items });
    },
    /** Sends a file again, or for the first time with its texts. */
    retry: (key: number, data: Record<string, string>) => change({ type: 'send', key, data }),
    /** Removes a file from the queue, and aborts its upload. */
    remove: (key: number) => {
      aborts.current.get(key)?.abort();
      change({ type: 'remove', key });
    },
    clear: () => change({ type: 'clear', key: 0 }),
  };
}

type AnyChange = Change<File, FileDocument>;

const headBytes = 16;

/** A function that gives the reason not to send a file that the service would refuse; null if there is no reason. */
function useRefusal({ upload }: Collection): (file: File) => Promise<string | null> {
  const { media } = useWords();
  const language = useLanguage();
  const kinds: Record<string, string> = { 'image/*': media.images, 'video/*': media.videos, 'audio/*': media.audio };
  return async (file) => {
    if (upload === false) return null;
    if (isTooLarge(file, upload)) {
      return media.tooLarge(sizeOf(file.size, language), sizeOf(upload.maxFileSize, language));
    }
    const head = await file
      .slice(0, headBytes)
      .arrayBuffer()
      .catch(() => new ArrayBuffer(0));
    const wrong = wrongTypeOf(file.type, String.fromCharCode(...new Uint8Array(head)), upload.mimeTypes);
    return wrong === null
      ? null
      : media.wrongType(wrong, (upload.mimeTypes ?? []).map((one) => kinds[one] ?? one).join(', '));
  };
}

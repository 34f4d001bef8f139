import { rm } from 'node:fs/promises';
import Boom from '@hapi/boom';
import type { Request } from '@hapi/hapi';
import { DomainError, inBody, invalidField } from '../../../config/errors.ts';
import type { UploadOptions } from '../../../config/model.ts';
import type { JsonObject } from '../../../config/schema.ts';
import type { FileValues } from '../../../config/uploads.ts';
import { UnknownOutcomeError, UnreadError } from '../../../events/facts/log.ts';
import { receiveFile } from '../../../storage/incoming.ts';
import type { App } from '../../app.ts';
import { isStoreFailure } from '../../http/store-refusals.ts';
import { once } from '../../platform/once.ts';
import { inspectFile } from '../inspection/inspect.ts';
import { cleanFilename } from './filenames.ts';
import { type FilePart, type FormTexts, filePart, formType, readForm } from './form.ts';

/** A file that was received and is not in the store yet. */
export type Upload = {
  values: FileValues;
  /** Keeps these bytes from being removed from the store until the write is over. @throws DomainError `unavailable`. */
  hold: () => Promise<void>;
  /** Holds the bytes and puts them into the store, once however often it is called. @throws BlobsUnavailableError. */
  keep: () => Promise<void>;
  /**
   * Ends the upload, with the error that a write ended with, or null. The received file is removed. If the write was
   * refused, its bytes are removed from the store too. If it is unknown whether the write was recorded, the bytes stay
   * pinned until this process ends; after the next start it is known.
   */
  release: (error: unknown) => Promise<void>;
};

/** The content of a write request; `data` is the body as rules may look at it: with the values of the file. */
export type ReceivedContent = { body: unknown; upload: Upload | null; data: unknown };

type Receiving = {
  app: Pick<App, 'model' | 'blobs' | 'pins'>;
  request: Request;
  options: UploadOptions;
  readTexts: (texts: FormTexts) => JsonObject;
};

/**
 * Reads a form, and its file into the folder `incoming`. The upload must be released, however the write ends.
 *
 * @throws DomainError `validation_failed` or `too_large`; BlobsUnavailableError if there is no disk space for the file.
 * Then   nothing of it is left.
 */
export async function receiveForm({ app, request, options, readTexts }: Receiving): Promise<ReceivedContent> {
  const received: string[] = [];
  const kept: string[] = [];
  let held: string[] = [];

  async function take({ filename, content }: FilePart): Promise<Upload> {
    const inspector = inspectFile(options);
    const file = await receiveFile(app.blobs.incoming, content, inspector.look);
    received.push(file.path);
    const { size: filesize, sha256 } = file;
    const { mimeType, width, height } = await inspector.finish(file.path);
    const values = { filename: cleanFilename(filename), mimeType, filesize, width, height, sha256 };
    const hold = once(async () => {
      await app.pins.pin(sha256);
      held.push(sha256);
    });
    const keep = once(async () => {
      await hold();
      kept.push(sha256);
      await app.blobs.keep(file);
    });
    return { values, hold, keep, release };
  }

  async function release(error: unknown): Promise<void> {
    if (error instanceof UnknownOutcomeError) held = [];
    // A write that was overtaken, by the end of its document for instance, leaves no bytes behind.
    const discarded = isRefusal(error) ? kept : [];
    await Promise.allSettled([
      ...received.map((path) => rm(path, { force: true })),
      // In this order, since pinned bytes are not discarded.
      ...held.map((sha256) => app.pins.unpin(sha256)),
      ...discarded.map((sha256) => app.pins.discard(sha256)),
    ]);
  }

  try {
    const { texts, file: upload } = await readForm(request, take, { maxTextBytes: app.model.limits.body });
    const body = readTexts(texts);
    return { body, upload, data: upload ? { ...body, ...upload.values } : body };
  } catch (error) {
    await release(error);
    throw error;
  }
}

/**
 * True for a refusal by the log, a rule, a hook or the store. After any other error it is unknown whether the write was
 * recorded.
 */
function isRefusal(error: unknown): boolean {
  if (error instanceof UnreadError) return false;
  return error instanceof DomainError || Boom.isBoom(error) || isStoreFailure(error);
}

/** The refusal of a new document of an upload collection that comes without its file. */
export function fileMissing(): DomainError {
  return invalidField(
    inBody(filePart, 'required'),
    `is required: send the document as ${formType}, with a part "${filePart}"`,
  );
}

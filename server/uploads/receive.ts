import { rm } from 'node:fs/promises';
import type { Request } from '@hapi/hapi';
import { DomainError } from '../../config/errors.ts';
import type { UploadOptions } from '../../config/model.ts';
import type { JsonObject } from '../../config/schema.ts';
import type { FileValues } from '../../config/uploads.ts';
import { receiveFile } from '../../storage/incoming.ts';
import type { App } from '../app.ts';
import { inspectFile } from '../inspection/inspect.ts';
import { cleanFilename } from './filenames.ts';
import { type FilePart, filePart, formType, readForm, type Texts } from './form.ts';

/** A file that was received and is not in the store yet. */
export type Upload = {
  values: FileValues;
  /**
   * Puts the bytes into the store, once however often it is called. Until the write is over, no collector takes them.
   *
   * @throws BlobsUnavailableError.
   */
  keep: () => Promise<void>;
};

type Receiving = { app: App; request: Request; options: UploadOptions; readTexts: (texts: Texts) => JsonObject };

/**
 * Reads a form, its file into the folder of files that come in, and runs a write with both. Whatever happens, the received
 * file is gone in the end; its bytes are in the store only when the write has kept them and was not refused.
 *
 * @throws DomainError `invalid` or `too-large`; BlobsUnavailableError when there is no room for the file.
 */
export async function withUpload<T>(
  { app, request, options, readTexts }: Receiving,
  write: (body: JsonObject, upload: Upload | null) => Promise<T>,
): Promise<T> {
  const undo: (() => Promise<void>)[] = [];
  const discard: (() => Promise<void>)[] = [];

  async function take({ filename, content }: FilePart): Promise<Upload> {
    const inspector = inspectFile(options);
    const received = await receiveFile(app.blobs.incoming, content, inspector.look);
    undo.push(() => rm(received.path, { force: true }));
    const { size: filesize, sha256 } = received;
    const { mimeType, width, height } = await inspector.finish(received.path);
    const values = { filename: cleanFilename(filename), mimeType, filesize, width, height, sha256 };
    let kept: Promise<void> | null = null;
    async function pinAndKeep(): Promise<void> {
      await app.pins.pin(sha256);
      undo.push(() => app.pins.unpin(sha256));
      discard.push(() => app.pins.discard(sha256));
      await app.blobs.keep(received);
    }
    return {
      values,
      keep() {
        kept ??= pinAndKeep();
        return kept;
      },
    };
  }

  try {
    const { texts, file } = await readForm(request, app.model.limits.body, take);
    return await write(readTexts(texts), file);
  } catch (error) {
    // A write that was overtaken, by the end of its document for instance, leaves no bytes behind.
    undo.push(...discard);
    throw error;
  } finally {
    // In this order: what is pinned is not discarded.
    await Promise.allSettled(undo.map((step) => step()));
  }
}

/** The refusal of a new document of an upload collection that comes without its file. */
export function fileMissing(): DomainError {
  const message = `${filePart} is required: send the document as ${formType}, with a part "${filePart}"`;
  return new DomainError('invalid', message, [{ field: filePart, message }]);
}

/** A body as rules may look at it: with what is said of the file that came with it. */
export function withFileValues(body: unknown, upload: Upload | null): unknown {
  return upload ? { ...(body as JsonObject), ...upload.values } : body;
}

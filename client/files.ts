import { segment } from './address.ts';
import type { Caller } from './calls.ts';
import type { FileSource } from './form.ts';
import type { Files } from './types/collections.ts';
import type { AnyConfig } from './types/config.ts';
import { contentOf, type ReplaceOptions, type UploadOptions } from './uploading.ts';

/** The size of a file and the speed of its way are not known: only the caller ends an upload. */
const timeout = 0;

/** A file with the fields beside it, where it is sent to, and the caller's options. */
type Sent = { method: 'POST' | 'PATCH'; path: string; file: FileSource; data: object; options: ReplaceOptions };

/** The calls of files. */
export function filesOf({ bodyOf }: Caller, slug: string) {
  const path = `/api/collections/${slug}`;

  async function send({ method, path, file, data, options }: Sent) {
    const { filename, onProgress, ...own } = options;
    const content = await contentOf(file, data, { filename, onProgress });
    return bodyOf({ method, path, content, timeout, options: own, isKeyed: !('password' in data) });
  }

  return {
    upload: (file: FileSource, data: object = {}, options: UploadOptions = {}) => {
      return send({ method: 'POST', path, file, data, options });
    },
    replaceFile: async (id: string, file: FileSource, data: object = {}, options: ReplaceOptions = {}) => {
      return send({ method: 'PATCH', path: `${path}/${segment('id', id)}`, file, data, options });
    },
  } satisfies Record<keyof Files<AnyConfig, string>, unknown>;
}

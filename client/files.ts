import { segment } from './address.ts';
import type { Caller } from './calls.ts';
import type { FileSource } from './form.ts';
import type { Files } from './types/collections.ts';
import type { AnyConfig } from './types/config.ts';
import { contentOf, type ReplaceOptions, type UploadOptions } from './uploading.ts';

/**
 * An upload has no timeout, because the size of the file and the speed of the connection are unknown. Only the caller
 * ends it.
 */
const timeout = 0;

/** An upload: the route, the file with the fields beside it, and the options of the caller. */
type FileCall = { method: 'POST' | 'PATCH'; path: string; file: FileSource; data: object; options: ReplaceOptions };

/** The calls about the files of a collection. */
export function filesOf({ bodyOf }: Caller, slug: string) {
  const path = `/api/collections/${slug}`;

  async function send({ method, path, file, data, options }: FileCall) {
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

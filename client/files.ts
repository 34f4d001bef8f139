import { segment } from './address.ts';
import type { Files } from './api.ts';
import type { Caller } from './calls.ts';
import type { FileSource } from './form.ts';
import type { AnyConfig } from './types/config.ts';
import { contentOf, type ReplaceOptions, type UploadOptions } from './uploading.ts';

/** How large a file is and how slow the way, nobody knows: only the caller ends an upload. */
const timeout = 0;

/** The calls of files. */
export function filesOf({ bodyOf }: Caller, slug: string) {
  const path = `/api/collections/${slug}`;

  async function send(method: 'POST' | 'PATCH', path: string, file: FileSource, data: object, options: ReplaceOptions) {
    const { filename, onProgress, ...own } = options;
    const content = await contentOf(file, data, { filename, onProgress });
    return bodyOf({ method, path, content, timeout, options: own, isKeyed: !('password' in data) });
  }

  return {
    upload: (file: FileSource, data: object = {}, options: UploadOptions = {}) => {
      return send('POST', path, file, data, options);
    },
    replaceFile: async (id: string, file: FileSource, data: object = {}, options: ReplaceOptions = {}) => {
      return send('PATCH', `${path}/${segment('id', id)}`, file, data, options);
    },
  } satisfies Record<keyof Files<AnyConfig, string>, unknown>;
}

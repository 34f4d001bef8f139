import type { OwnDraftWithData } from '../../../../../client/index.ts';
import type { KeptHere } from '../../../service/kept-here.ts';
import type { Values } from '../form/values.ts';

/** A draft that was there when the form was opened. */
export type Found = {
  data: Values;
  base: Values;
  version: number | null;
  updatedAt: string;
  /** The form that it was typed in, of this device; undefined for one that only the service has. */
  form: string | undefined;
  /** The time of the copy of the service; null where it has none of this draft. */
  atService: string | null;
  /** The tag of that copy. */
  etag: string | undefined;
};

/**
 * The drafts of this device and that of the service, the newest first. One of this device is the same as that of the
 * service, and the newer copy of it, where it knows of it.
 */
export function newestFirst(
  here: readonly KeptHere[],
  service: OwnDraftWithData | undefined,
  etag: string | undefined,
): Found[] {
  const drafts = here.map(({ data, base, version, updatedAt, form, atService }): Found => {
    const isSame = service !== undefined && atService === service.updatedAt;
    return { data, base, version, updatedAt, form, ...(isSame ? { atService, etag } : nowhere) };
  });
  if (service !== undefined && !drafts.some((one) => one.atService !== null)) {
    const { data, version, updatedAt } = service;
    drafts.push({ data, base: {}, version, updatedAt, form: undefined, atService: updatedAt, etag });
  }
  return drafts.sort((one, other) => (one.updatedAt < other.updatedAt ? 1 : -1));
}

const nowhere = { atService: null, etag: undefined };

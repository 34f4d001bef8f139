import type { OwnDraftWithData } from '../../../../../client/index.ts';
import type { LocalChanges } from '../../../service/local-changes.ts';
import type { Values } from '../form/values.ts';

/** Unsaved changes that were there when the form was opened. */
export type StoredChanges = {
  data: Values;
  base: Values;
  version: number | null;
  updatedAt: string;
  /** The form of this device that they were typed in; undefined if only the service has them. */
  form: string | undefined;
  /** The time of their copy at the service; null if the service has no copy of them. */
  atService: string | null;
  /** The tag of the copy at the service. */
  etag: string | undefined;
};

/**
 * The unsaved changes of this device and those of the service, the newest first. Changes of this device that name the
 * copy at the service are the same changes, as new or newer: the copy is then not listed.
 */
export function newestFirst(
  here: readonly LocalChanges[],
  service: OwnDraftWithData | undefined,
  etag: string | undefined,
): StoredChanges[] {
  const drafts = here.map(({ data, base, version, updatedAt, form, atService }): StoredChanges => {
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

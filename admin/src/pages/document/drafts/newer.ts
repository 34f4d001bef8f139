import type { OwnDraftWithData } from '../../../../../client/index.ts';
import type { KeptHere } from '../../../service/kept-here.ts';
import type { Values } from '../form/values.ts';

/** A draft that was there when the form was opened. */
export type Found = {
  data: Values;
  base: Values;
  version: number | null;
  updatedAt: string;
  isHere: boolean;
  atService: string | null;
  /** The tag of the copy of the service. */
  etag: string | undefined;
};

/** The newer of two drafts. That of this device is, where it knows of the other; else their times tell. */
export function newerOf(
  here: KeptHere | undefined,
  service: OwnDraftWithData | undefined,
  etag: string | undefined,
): Found | null {
  const shared = { isHere: here !== undefined, atService: service?.updatedAt ?? null, etag };
  const isHereNewer =
    here !== undefined &&
    (service === undefined || here.atService === service.updatedAt || here.updatedAt >= service.updatedAt);
  if (isHereNewer) {
    const { data, base, version, updatedAt } = here;
    return { data, base, version, updatedAt, ...shared };
  }
  if (service === undefined) return null;
  const { data, version, updatedAt } = service;
  return { data, base: {}, version, updatedAt, ...shared };
}

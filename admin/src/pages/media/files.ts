import { type DataField, dataFields } from '../../schema/fields.ts';
import type { Collection } from '../../schema/model.ts';

/** A document of an upload collection. */
export type FileDocument = {
  id: string;
  filename: string;
  mimeType: string;
  filesize: number;
  url: string;
  width?: number | null;
  height?: number | null;
  createdAt?: string;
  [field: string]: unknown;
};

/** The members that are read of a file to show it. */
export const shownMembers = ['filename', 'mimeType', 'filesize', 'url', 'width', 'height', 'createdAt'];

/** The types that a dialog for files offers. Of plain text the service tells no kinds: `text/plain` are all of them. */
export function acceptOf(mimeTypes: readonly string[] | undefined): string | undefined {
  if (mimeTypes === undefined || mimeTypes.length === 0 || mimeTypes.includes('*/*')) return undefined;
  const accepted = mimeTypes.flatMap((type) => (type === 'text/plain' ? ['text/*', '.md', '.json', '.csv'] : [type]));
  return accepted.join(',');
}

/** Whether a file is larger than its collection takes. */
export function isTooLarge(file: { size: number }, upload: Collection['upload']): boolean {
  return upload !== false && file.size > upload.maxFileSize;
}

/** Types that the first bytes of a file tell, each with a mark. */
const marks: [RegExp, string][] = [
  [/^\x89PNG/, 'image/png'],
  [/^\xff\xd8\xff/, 'image/jpeg'],
  [/^GIF8/, 'image/gif'],
  [/^RIFF.{4}WEBP/s, 'image/webp'],
  [/^%PDF-/, 'application/pdf'],
];

/** Systems do not agree on the names of types, but on these kinds of them. */
const families = [/^image\//, /^(audio|video)\//, /^(text|application|font|model)\//];

/**
 * The type of a file that its collection does not take; null for one that it may take. The service tells by the bytes,
 * after all of them have come: this refuses beforehand only what is certain, by the first bytes, else by the kind that
 * the name tells.
 *
 * @param head the first bytes, each as a letter.
 */
export function wrongTypeOf(type: string, head: string, mimeTypes: readonly string[] | undefined): string | null {
  if (mimeTypes === undefined || mimeTypes.length === 0 || mimeTypes.includes('*/*')) return null;
  const marked = marks.find(([mark]) => mark.test(head))?.[1];
  if (marked !== undefined) {
    const isTaken = mimeTypes.some((one) => one.replace('image/jpg', 'image/jpeg') === marked || isWithin(marked, one));
    return isTaken ? null : marked;
  }
  const family = families.find((one) => one.test(type));
  return family === undefined || mimeTypes.some((one) => family.test(one)) ? null : type;
}

function isWithin(type: string, wildcard: string): boolean {
  return wildcard.endsWith('/*') && type.startsWith(wildcard.slice(0, -1));
}

/** The kind of a file, as it is shown. */
export type FileKind = 'image' | 'video' | 'audio' | 'text' | 'other';

/** The kind of a file, by its type. */
export function kindOf(mimeType: string): FileKind {
  const [kind = ''] = mimeType.split('/', 1);
  if (kind === 'image' || kind === 'video' || kind === 'audio') return kind;
  return kind === 'text' || mimeType === 'application/pdf' ? 'text' : 'other';
}

/** The last part of a name, in capitals: what a file is, where there is no picture of it. */
export function extensionOf(filename: string): string {
  const [, extension = ''] = /\.([\p{L}\d]{1,5})$/u.exec(filename) ?? [];
  return extension.toUpperCase();
}

const askable = ['text', 'textarea', 'email', 'url'];

/** The fields that are asked for beside a new file: those of text without which it is refused, and `alt`. */
export function askedFields({ fields }: Pick<Collection, 'fields'>): DataField[] {
  return dataFields(fields).filter((field) => {
    if (!askable.includes(field.type) || field.access?.create === false) return false;
    return isNeeded(field) || (field.name === 'alt' && !field.admin?.hidden);
  });
}

/** Whether a file is refused without the field. */
export function isNeeded(field: DataField): boolean {
  return field.required === true && field.defaultValue === undefined && !field.hasDefault;
}

/** The name under which the reason of an upload stands beside its texts; no field is called so. */
export const reasonName = '$reason';

/** The name under which the service speaks of it. */
export const reasonHeader = 'x-change-reason';

/** Texts beside a file, and the reason that stands among them. */
export function withoutReason(texts: Record<string, string>): {
  data: Record<string, string>;
  reason: { reason?: string };
} {
  const { [reasonName]: reason, ...data } = texts;
  return { data, reason: reason === undefined || reason === '' ? {} : { reason } };
}

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

/** The members of a file that are read to show it. */
export const shownMembers = ['filename', 'mimeType', 'filesize', 'url', 'width', 'height', 'createdAt'];

/** The types that a file dialog offers. The service cannot tell kinds of text apart: all are `text/plain`. */
export function acceptOf(mimeTypes: readonly string[] | undefined): string | undefined {
  if (mimeTypes === undefined || mimeTypes.length === 0 || mimeTypes.includes('*/*')) return undefined;
  const accepted = mimeTypes.flatMap((type) => (type === 'text/plain' ? ['text/*', '.md', '.json', '.csv'] : [type]));
  return accepted.join(',');
}

/** Whether a file is larger than its collection takes. */
export function isTooLarge(file: { size: number }, upload: Collection['upload']): boolean {
  return upload !== false && file.size > upload.maxFileSize;
}

/** Types that the first bytes of a file show, each with its pattern. */
const marks: [RegExp, string][] = [
  [/^\x89PNG/, 'image/png'],
  [/^\xff\xd8\xff/, 'image/jpeg'],
  [/^GIF8/, 'image/gif'],
  [/^RIFF.{4}WEBP/s, 'image/webp'],
  [/^%PDF-/, 'application/pdf'],
];

/** Families of types: operating systems disagree on the names of types, but not on their families. */
const families = [/^image\//, /^(audio|video)\//, /^(text|application|font|model)\//];

/**
 * The type of a file if its collection does not take it; null if it may. The service decides by the bytes, after the
 * whole upload. This function refuses a file beforehand only if that is certain: by its first bytes, else by the family
 * of the type that its name suggests.
 *
 * @param head the first bytes, each as a character.
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

/** The kind of a file, which decides how it is shown. */
export type FileKind = 'image' | 'video' | 'audio' | 'text' | 'other';

/** The kind of a file by its MIME type. */
export function kindOf(mimeType: string): FileKind {
  const [kind = ''] = mimeType.split('/', 1);
  if (kind === 'image' || kind === 'video' || kind === 'audio') return kind;
  return kind === 'text' || mimeType === 'application/pdf' ? 'text' : 'other';
}

/** The extension of a file name in capitals, shown in place of a picture. */
export function extensionOf(filename: string): string {
  const [, extension = ''] = /\.([\p{L}\d]{1,5})$/u.exec(filename) ?? [];
  return extension.toUpperCase();
}

const askable = ['text', 'textarea', 'email', 'url'];

/** The fields that are asked for with a new file: the required texts, and `alt`. */
export function askedFields({ fields }: Pick<Collection, 'fields'>): DataField[] {
  return dataFields(fields).filter((field) => {
    if (!askable.includes(field.type) || field.access?.create === false) return false;
    return isNeeded(field) || (field.name === 'alt' && !field.admin?.hidden);
  });
}

/** Whether the service refuses a file without the field. */
export function isNeeded(field: DataField): boolean {
  return field.required === true && field.defaultValue === undefined && !field.hasDefault;
}

/** The name of the reason among the texts of an upload; no field can have it. */
export const reasonName = '$reason';

/** The name of the reason in errors of the service. */
export const reasonHeader = 'x-change-reason';

/** Splits the texts of a file and the reason that is among them. */
export function withoutReason(texts: Record<string, string>): {
  data: Record<string, string>;
  reason: { reason?: string };
} {
  const { [reasonName]: reason, ...data } = texts;
  return { data, reason: reason === undefined || reason === '' ? {} : { reason } };
}

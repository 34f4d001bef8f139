export type * from './api.ts';
export { createClient } from './client.ts';
export { ApiError, type FieldProblem } from './errors.ts';
export type { FileSource } from './form.ts';
export type * from './options.ts';
export { type RichTextOptions, type RichTextTarget, richTextToHtml, richTextToText } from './rich-text.ts';
export type * from './types/answers.ts';
export type * from './types/config.ts';
export type { Progress, ReplaceOptions, UploadOptions } from './uploading.ts';

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../../verify/annals-verify.mjs';
import { createHistory, type Entry, hexOf, type Thing } from './forger.ts';

export const fileBytes = Buffer.from('the bytes of a file');
export const post = 'posts/019a0000-0000-7000-8000-0000000000a1';
export const person = 'users/019a0000-0000-7000-8000-0000000000b1';
export const medium = 'media/019a0000-0000-7000-8000-0000000000c1';
export const account = `accounts/${person}`;
/** The document that the events of {@link post} make. */
export const postNow = { id: post.slice(6), title: 'Back', tags: ['a'] };
export const mediumNow = {
  id: medium.slice(6),
  filename: 'a.txt',
  filesize: fileBytes.length,
  sha256: hexOf(fileBytes),
};

/** A log with something of everything, in which the person of position 3 is to be erased at 14. */
export function lively(): Entry[] {
  const { entries, record } = createHistory();
  const schema = {
    collections: [
      { slug: 'posts', fields: [] },
      { slug: 'media', upload: { maxFileSize: 9 } },
    ],
    globals: [],
  };
  record('system/schema', 'schema.changed', { schema });
  record(post, 'document.created', { id: post.slice(6), title: 'One', tags: [], old: 1 });
  record(person, 'document.created', { id: person.slice(6), name: 'Ada' });
  record(post, 'document.updated', { set: { title: 'Two', tags: ['a'] } });
  record(account, 'login.succeeded', {});
  record('posts/2', 'document.created', { id: '2', title: 'Other' });
  record('system/schema', 'schema.changed', { schema: { ...schema, globals: [{ slug: 'site', fields: [] }] } });
  record(post, 'document.updated', { set: { title: 'Three' }, unset: ['old'] });
  record('globals/site', 'global.updated', { set: { name: 'Annals' } });
  record(medium, 'document.created', mediumNow);
  record('posts/2', 'document.deleted', {});
  record(post, 'document.deleted', {});
  record(post, 'document.restored', { source: { version: 3, position: 8 }, document: postNow });
  record(person, 'document.erased', {
    streams: [
      { stream: person, versions: 1 },
      { stream: account, versions: 1 },
    ],
  });
  record('globals/site', 'global.updated', { set: { name: 'Annals', lines: 2 } });
  record('system/audit', 'log.exported', { from: 1, to: 15, format: 'ndjson', events: 15 });
  return entries;
}

/** The log after the erasure. */
export function erased(entries: readonly Entry[]): Entry[] {
  return entries.map((entry) => ([3, 5].includes(entry.header.position) ? { ...entry, body: null } : entry));
}

/** Puts files into a folder of their own; gives its path. */
export function unpacked(folder: string, name: string, files: Record<string, string | Buffer>): string {
  const path = join(folder, name);
  mkdirSync(join(path, 'files'), { recursive: true });
  for (const [file, content] of Object.entries(files)) writeFileSync(join(path, file), content);
  return path;
}

/** A bundle as a folder. */
export function bundleIn(folder: string, name: string, bundle: Thing, files: Record<string, Buffer> = {}): string {
  return unpacked(folder, name, { 'bundle.json': JSON.stringify(bundle), ...files });
}

/** An export as a folder. */
export function exportIn(folder: string, name: string, { manifest, text }: { manifest: Thing; text: string }): string {
  return unpacked(folder, name, { 'manifest.json': JSON.stringify(manifest, null, 2), [manifest.file]: text });
}

/** Runs the verifier and gives its exit code and its last line. */
export async function verdictOf(...args: string[]): Promise<string> {
  const { exit, text } = await run(args);
  return `${exit} ${text.trimEnd().split('\n').at(-1)}`;
}

import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';

export const config = { collections: [{ slug: 'posts', fields: [{ name: 'title', type: 'text' }] }] };
/**
 * A configuration that prints that it is loaded. Its creates print that they have begun, and go on once the file `gate`
 * exists.
 */
export const slowConfig = (gate: string) => `import { existsSync } from 'node:fs';
  console.error('loaded');
  const isOpen = async () => {
    console.error('asked');
    while (!existsSync(${JSON.stringify(gate)})) await new Promise((go) => setTimeout(go, 10));
    return true;
  };
  const access = { create: isOpen, read: () => true };
  export default { collections: [{ slug: 'posts', fields: [{ name: 'title', type: 'text' }], access }] };`;
export const posts = '/api/collections/posts';
/** For tests in which it does not matter which thread answers: each thread makes a start slower. */
export const noThreads = { ANNALS_THREADS: '0' };

/** Whether a new connection is taken. */
export function isTaken(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname, () => resolve(true));
    socket.on('error', () => resolve(false));
    socket.on('connect', () => socket.destroy());
  });
}

/** A file with a text in it. */
export function fileWith(folder: string, name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

/** The answer to a caller with a key who reads posts. */
export const postsBy = (url: string, key: string) => fetch(`${url}${posts}`, { headers: { 'x-api-key': key } });

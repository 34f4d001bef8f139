import { connect } from 'node:net';

export const config = { collections: [{ slug: 'posts', fields: [{ name: 'title', type: 'text' }] }] };
/** Its creates take a while, and say that they have begun. */
export const slowConfig = `export default { collections: [{ slug: 'posts', fields: [{ name: 'title', type: 'text' }], access: {
  create: async () => { console.error('asked'); await new Promise((go) => setTimeout(go, 1200)); return true; }, read: () => true } }] }`;
export const posts = '/api/collections/posts';
/** Where it does not matter who answers: each thread costs at every start. */
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

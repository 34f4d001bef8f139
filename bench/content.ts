/** The number of authors of the posts. */
export const authors = 100;

/**
 * A post of about 1 KB. The same index gives the same post in every run. `author` is a number below {@link authors}.
 */
export type Post = {
  title: string;
  slug: string;
  body: string;
  status: string;
  views: number;
  publishedAt: string;
  author: number;
};

/** A small seeded generator (mulberry32) of numbers from 0 up to 1, so that runs can be compared. */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const syllables = ['ba', 'ren', 'tol', 'mi', 'ka', 'sor', 'vel', 'du', 'pan', 'ge', 'lor', 'nis', 'ta', 'que', 'fri'];
const words = syllables.flatMap((first) => syllables.map((second) => first + second));
const year = 365 * 86_400_000;

/** Post number `index`. */
export function post(index: number): Post {
  const random = createRandom(index * 2_654_435_761 + 12_345);
  const word = () => words[Math.floor(random() * words.length)] as string;
  const sentence = (length: number) => Array.from({ length }, word).join(' ');
  let body = '';
  while (body.length < 850) body += `${sentence(8)}. `;
  return {
    title: sentence(4 + Math.floor(random() * 4)),
    slug: `post-${index}-${word()}`,
    body: body.trim(),
    status: random() < 0.7 ? 'published' : 'draft',
    views: Math.floor(random() * 10_001),
    publishedAt: new Date(Date.UTC(2023, 0, 1) + Math.floor(random() * 3 * year)).toISOString(),
    author: Math.floor(random() * authors),
  };
}

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { apiKey, type Service } from '../../helpers/service.ts';
import { values } from './rich.ts';

type Filled = Pick<Service, 'url' | 'call'>;

/** The seed of the values, which `TEST_SEED` sets. */
export const seed = Number(process.env.TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));

/** Fills a service of the configuration of `rich.ts`: 33 documents, one that is deleted, and one of two globals. */
export async function fill(service: Filled): Promise<void> {
  const samples = fc.sample(values, { numRuns: 24, seed });
  const people: string[] = [];
  for (const key of ['p0', 'p1', 'p2', 'p3', 'p4'])
    people.push(await created(service, 'people', { key, boss: people[0] ?? null }));
  const pictures: string[] = [];
  for (const [key, alt] of [
    ['i0', 'one'],
    ['i1', '=two'],
    ['i2', 'one'],
  ] as const) {
    pictures.push(await sent(service, key, alt));
  }
  const works: string[] = [];
  for (const [index, sample] of samples.entries())
    works.push(
      await created(service, 'works', {
        ...sample,
        key: `w${String(index).padStart(2, '0')}`,
        author: people[index % 5],
      }),
    );
  const at = (ids: readonly string[], index: number) => ids[index % ids.length] as string;
  // Circles: each work names later and earlier ones, a person their own work and one that names that person.
  for (const [index, id] of works.entries()) {
    if (index % 4 === 3) continue;
    await changed(service, `/api/collections/works/${id}`, {
      next: at(works, index + 1),
      related: [at(works, index * 7), id, at(works, index + 5)],
      picture: at(pictures, index),
      seo: { title: '=1+1', from: at(works, index + 3), picture: at(pictures, index + 1) },
      links: [
        { label: 'on', to: at(works, index + 2) },
        { label: null, to: null },
      ],
      parts: [
        { blockType: 'quote', text: "'quoted'", by: [at(people, index), at(people, index + 1)] },
        { blockType: 'work', work: at(works, index + 9) },
      ],
    });
  }
  for (const [index, id] of people.entries())
    await changed(service, `/api/collections/people/${id}`, {
      boss: at(people, index + 1),
      best: at(works, index * 3),
    });
  for (const [index, id] of pictures.entries())
    await changed(service, `/api/collections/pictures/${id}`, {
      by: at(people, index),
      ...(index === 2 && { alt: null }),
    });
  const user = {
    email: 'Ada@example.org',
    password: 'correct horse battery',
    key: 'u0',
    picture: pictures[0],
    role: 'chief',
  };
  await created(service, 'users', user);
  const gone = await created(service, 'people', { key: 'gone' });
  assert.equal((await service.call('DELETE', `/api/collections/people/${gone}`)).status, 200);
  await changed(service, '/api/globals/site', { title: '@site', owner: people[2], shown: [works[1], works[0]] });
}

async function created({ call }: Filled, slug: string, body: object): Promise<string> {
  const answer = await call('POST', `/api/collections/${slug}`, body);
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body.id;
}

async function sent({ url }: Filled, key: string, alt: string): Promise<string> {
  const form = new FormData();
  form.set('file', new Blob([alt]), `${key}.txt`);
  form.set('key', key);
  form.set('alt', alt);
  const headers = { 'x-api-key': apiKey };
  const answer = await fetch(`${url}/api/collections/pictures`, { method: 'POST', headers, body: form });
  assert.equal(answer.status, 201);
  return ((await answer.json()) as { id: string }).id;
}

async function changed({ call }: Filled, path: string, body: object): Promise<void> {
  const answer = await call('PATCH', path, body);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
}

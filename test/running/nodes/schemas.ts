import { runCommand, type Service } from '../../helpers/service.ts';
import { config } from './node.ts';

export const path = '/api/collections/posts';

/** The slug is not unique any more, and has another name; the title is unique. */
export const next = {
  ...config,
  collections: [
    {
      slug: 'posts',
      history: 'public',
      fields: [
        { name: 'title', type: 'text', required: true, unique: true },
        { name: 'address', type: 'text', renamedFrom: 'slug' },
        { name: 'count', type: 'number' },
      ],
    },
  ],
};

/** Runs `annals schema apply` beside a node. */
export async function apply(node: Service, ...flags: string[]) {
  return runCommand(['schema', 'apply', '--data', node.data, ...flags]);
}

import type { Config } from '../../../config/define.ts';
import type { HereService } from '../../helpers/embedded.ts';
import type { Answer, CallOptions } from '../../helpers/service.ts';

/** Posts and a global with drafts; notes have none. */
export const config = {
  bcryptCost: 4,
  rateLimit: false,
  collections: [
    {
      slug: 'posts',
      drafts: true,
      fields: [
        { name: 'title', type: 'text', required: true },
        { name: 'slug', type: 'text', unique: true },
        { name: 'stock', type: 'number' },
        { name: 'author', type: 'relationship', relationTo: 'authors' },
      ],
    },
    { slug: 'authors', drafts: true, fields: [{ name: 'name', type: 'text', required: true }] },
    { slug: 'notes', fields: [{ name: 'text', type: 'text' }] },
  ],
  globals: [{ slug: 'site', drafts: true, fields: [{ name: 'name', type: 'text' }] }],
} satisfies Config;

/** An item of a release. */
type Item = { collection: string; id: string } & Record<string, unknown>;

/** Calls about releases, and about the documents of {@link config}. */
export function callsOf({ call }: Pick<HereService, 'call'>) {
  const posts = '/api/collections/posts';
  const draft = async (values: object): Promise<Item> => {
    const { body } = await call('POST', `${posts}?draft=true`, values);
    return { collection: 'posts', id: String(body.id) };
  };
  return {
    /** Makes a draft; gives its item. */
    draft,
    /** Makes a public document; gives its item. */
    post: async (values: object): Promise<Item> => {
      const { body } = await call('POST', posts, values);
      return { collection: 'posts', id: String(body.id) };
    },
    edit: ({ id }: Item, values: object): Promise<Answer> => call('PATCH', `${posts}/${id}?draft=true`, values),
    patch: ({ id }: Item, values: object): Promise<Answer> => call('PATCH', `${posts}/${id}`, values),
    /** The public document; null if it is not public. */
    shown: async ({ id }: Item) => {
      const { status, body } = await call('GET', `${posts}/${id}`);
      return status === 404 ? null : body;
    },
    publish: ({ id }: Item, body?: object, options?: CallOptions): Promise<Answer> =>
      call('POST', `${posts}/${id}/publish`, body, options),
    unpublish: ({ id }: Item, body?: object): Promise<Answer> => call('POST', `${posts}/${id}/unpublish`, body),
    release: (body: object, options?: CallOptions): Promise<Answer> => call('POST', '/api/releases', body, options),
    read: (id: string): Promise<Answer> => call('GET', `/api/releases/${id}`),
    on: (id: string, end: string, body?: object, options?: CallOptions): Promise<Answer> =>
      call('POST', `/api/releases/${id}/${end}`, body, options),
  };
}

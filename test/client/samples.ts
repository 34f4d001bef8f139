import type { CreateInput, DocumentOf, GlobalInput, GlobalOf, UpdateInput } from '../../client/types/config.ts';
import type config from './rich.config.ts';

// Requests and answers of a service of `rich.config.ts`, as the compiler sees them: a member too many or too few is an
// error here, and `types.test.ts` holds the same against a service. Ids are names, times are 'now'.

type C = typeof config;
type Stored = { id: string; createdAt: string; updatedAt: string };
const stored = (id: string): Stored => ({ id, createdAt: 'now', updatedAt: 'now' });

export const inputs = {
  ada: { name: 'Ada' } satisfies CreateInput<C, 'authors'>,
  grace: { name: 'Grace', boss: 'ada', posts: 'not looked at' } satisfies CreateInput<C, 'authors'>,
  gone: { name: 'Gone', boss: null } satisfies CreateInput<C, 'authors'>,
  member: { email: 'ada@example.org', password: 'correct horse', role: 'chief' } satisfies CreateInput<C, 'members'>,
  cover: { alt: 'A text', by: 'ada' } satisfies CreateInput<C, 'pictures'>,
  plain: { title: 'Plain', author: 'ada', body: [] } satisfies CreateInput<C, 'posts'>,
  full: {
    title: 'Full',
    slug: 'full',
    status: 'published',
    mood: "it's",
    tags: ['news', 'tech'],
    author: 'grace',
    editor: 'gone',
    related: ['plain'],
    cover: 'cover',
    views: 3,
    isPinned: true,
    site: 'https://example.org/',
    day: '2024-02-29',
    at: '2024-02-29T12:30:00Z',
    hour: '23:59',
    body: { type: 'doc', content: [1, null] },
    extra: 'x',
    contact: 'a@example.org',
    notes: 'n',
    log: 'l',
    seo: { title: 'S' },
    settings: { colour: 'red' },
    links: [{ url: 'https://example.org/', to: 'plain' }],
    sections: [
      { blockType: 'text', text: 'T', size: 's' },
      { blockType: 'quote', text: { a: 1 }, by: 'ada', people: ['ada', 'gone'] },
    ],
  } satisfies CreateInput<C, 'posts'>,
};

/** Not required, and nothing there: null. */
export const nothing = {
  slug: null,
  mood: null,
  tags: null,
  editor: null,
  related: null,
  views: null,
  extra: null,
  seo: null,
  links: null,
  sections: null,
  id: 'not looked at',
} satisfies UpdateInput<C, 'posts'>;

const ada = (posts: string[]): DocumentOf<C, 'authors'> => ({ ...stored('ada'), name: 'Ada', boss: null, posts });

const plain: DocumentOf<C, 'posts'> = {
  ...stored('plain'),
  title: 'Plain',
  slug: null,
  status: 'draft',
  mood: null,
  tags: [],
  author: 'ada',
  editor: null,
  related: [],
  cover: null,
  views: 0,
  isPinned: false,
  site: null,
  day: null,
  at: null,
  hour: null,
  body: [],
  extra: null,
  contact: null,
  notes: null,
  log: null,
  seo: null,
  settings: { layout: 'wide', colour: null },
  links: [],
  sections: [],
};

const cover: DocumentOf<C, 'pictures'> = {
  ...stored('cover'),
  filename: 'a.txt',
  mimeType: 'text/plain',
  filesize: 1,
  width: null,
  height: null,
  sha256: 'ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb',
  url: '/api/media/pictures/cover/a.txt',
  alt: 'A text',
  by: 'ada',
};

const { notes: _, ...forEverybody } = plain;

/** Documents as they are answered; `gone` was deleted after it had been written into others. */
export const answers = {
  plain,
  /** Without a credential: `notes` is not for every reader. */
  anonymous: forEverybody satisfies DocumentOf<C, 'posts'>,
  cover,
  member: {
    ...stored('member'),
    email: 'ada@example.org',
    role: 'chief',
    picture: null,
    constructor: null,
  } satisfies DocumentOf<C, 'members'>,
  full: {
    ...stored('full'),
    title: 'Full',
    slug: 'full',
    status: 'published',
    mood: "it's",
    tags: ['news', 'tech'],
    author: { ...stored('grace'), name: 'Grace', boss: { ...ada(['plain']) }, posts: ['full'] },
    editor: 'gone',
    related: [{ ...plain, author: { ...ada(['plain']) } }],
    cover: { ...cover, by: { ...ada(['plain']) } },
    views: 3,
    isPinned: true,
    site: 'https://example.org/',
    day: '2024-02-29',
    at: '2024-02-29T12:30:00.000Z',
    hour: '23:59',
    body: { type: 'doc', content: [1, null] },
    extra: 'x',
    contact: 'a@example.org',
    notes: 'n',
    log: 'l',
    seo: { title: 'S', hidden: null, image: null },
    settings: { layout: 'wide', colour: 'red' },
    links: [{ url: 'https://example.org/', to: { ...plain, author: { ...ada(['plain']) } } }],
    sections: [
      { blockType: 'text', text: 'T', size: 's' },
      {
        blockType: 'quote',
        text: { a: 1 },
        by: { ...ada(['plain']) },
        people: [{ ...ada(['plain']) }, 'gone'],
      },
    ],
  } satisfies DocumentOf<C, 'posts', 2>,
};

export const site = {
  before: {
    createdAt: null,
    updatedAt: null,
    title: 'Mine',
    owner: null,
    colours: [],
    theme: { dark: true },
    secret: null,
    mode: null,
    text: null,
    parts: [],
  } satisfies GlobalOf<C, 'site'>,
  change: {
    owner: 'ada',
    colours: ['red'],
    mode: 'on',
    text: 'x',
    parts: [{ blockType: 'empty' }],
  } satisfies GlobalInput<C, 'site'>,
  after: {
    createdAt: 'now',
    updatedAt: 'now',
    title: 'Mine',
    owner: { ...ada(['plain']) },
    colours: ['red'],
    theme: { dark: true },
    secret: null,
    mode: 'on',
    text: 'x',
    parts: [{ blockType: 'empty' }],
  } satisfies GlobalOf<C, 'site', 1>,
};

type Refused<Slug extends string> = { slug: Slug; input: CreateInput<C, Slug> };
const post = <T>(input: T & CreateInput<C, 'posts'>): Refused<'posts'> => ({ slug: 'posts', input });
const { plain: sound } = inputs;

/** The service refuses these as the compiler does. */
export const refused: { slug: string; input: object }[] = [
  // @ts-expect-error required, without a default
  post({ title: 'x', author: 'ada' }),
  // @ts-expect-error required
  post({ ...sound, title: null }),
  // @ts-expect-error required, with a default
  post({ ...sound, status: null }),
  // @ts-expect-error not an option
  post({ ...sound, status: 'drft' }),
  // @ts-expect-error
  post({ ...sound, tags: ['sports'] }),
  // @ts-expect-error
  post({ ...sound, views: '3' }),
  // @ts-expect-error an id, not a document
  post({ ...sound, author: { id: 'ada' } }),
  // @ts-expect-error several
  post({ ...sound, related: 'plain' }),
  // @ts-expect-error required inside
  post({ ...sound, seo: { hidden: true } }),
  // @ts-expect-error
  post({ ...sound, links: [{}] }),
  // @ts-expect-error not a block
  post({ ...sound, sections: [{ blockType: 'image' }] }),
  // @ts-expect-error required in this block
  post({ ...sound, sections: [{ blockType: 'quote' }] }),
  // @ts-expect-error
  post({ ...sound, settings: null }),
  // @ts-expect-error
  post({ ...sound, body: null }),
];

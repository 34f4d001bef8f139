import type {
  AuthSlug,
  CollectionSlug,
  CreateInput,
  DocumentOf,
  GlobalInput,
  GlobalOf,
  GlobalSlug,
  GroupPathOf,
  NumberPathOf,
  OrderedPathOf,
  SortOf,
  UniquePathOf,
  UpdateInput,
  UploadSlug,
  UserOf,
  WhereOf,
} from '../../client/types/config.ts';
import { type CollectionConfig, type Config, defineConfig } from '../../config/define.ts';
import type { ConstantJson } from '../../config/define-admin.ts';
import type { Json } from '../../config/schema.ts';
import type atlas from '../../examples/atlas/annals.config.ts';
import type config from './rich.config.ts';
import type { Annals, Post as WrittenPost } from './rich.types.ts';

// The compiler tests types: `npm run types` fails if one of these is wrong.
type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
type Is<T extends true> = T;
type Extends<A, B> = A extends B ? true : false;

type C = typeof config;
type Stored = { id: string; createdAt: string; updatedAt: string };
type Picture<By> = Stored & {
  filename: string;
  mimeType: string;
  filesize: number;
  width: number | null;
  height: number | null;
  sha256: string;
  url: string;
  alt: string;
  by: By | null;
};
type Whole<T> = { [Key in keyof T]: T[Key] };
type Author0 = Whole<Stored & { name: string; boss: string | null; posts: string[] }>;

export type Slugs = [
  Is<Equal<CollectionSlug<C>, 'posts' | 'authors' | 'pictures' | 'members' | 'post-create'>>,
  Is<Equal<AuthSlug<C>, 'members'>>,
  Is<Equal<UploadSlug<C>, 'pictures'>>,
  Is<Equal<GlobalSlug<C>, 'site' | 'post'>>,
];

type Post = DocumentOf<C, 'posts'>;
export type Fields = [
  Is<Equal<Post['id'], string>>,
  Is<Equal<Post['title'], string>>,
  Is<Equal<Post['slug'], string | null>>,
  Is<Equal<Post['status'], 'draft' | 'published'>>,
  Is<Equal<Post['mood'], "it's" | 'so "so"' | '*/' | null>>,
  Is<Equal<Post['tags'], ('news' | 'tech')[]>>,
  Is<Equal<Post['views'], number | null>>,
  Is<Equal<Post['isPinned'], boolean>>,
  Is<Equal<Post['site'], string | null>>,
  Is<Equal<Post['day'], string | null>>,
  Is<Equal<Post['body'], Exclude<Json, null>>>,
  Is<Equal<Post['extra'], Json>>,
  Is<Equal<Post['seo'], { title: string; hidden?: boolean | null; image: string | null } | null>>,
  Is<Equal<Post['settings'], { layout: 'wide' | 'narrow'; colour: string | null }>>,
  Is<Equal<Post['links'], { url: string; to: string | null }[]>>,
  Is<
    Equal<
      Post['sections'],
      (
        | { blockType: 'text'; text: string; size: 's' | 'm' | null }
        | { blockType: 'quote'; text: Json; by: string; people: string[] }
      )[]
    >
  >,
  // A field with a read rule may be missing; its write rule has no part in that.
  Is<Equal<Pick<Post, 'notes'>, { notes?: string | null }>>,
  Is<Equal<Pick<Post, 'log'>, { log: string | null }>>,
  Is<Equal<DocumentOf<C, 'pictures'>, Whole<Picture<string>>>>,
  Is<
    Equal<
      keyof DocumentOf<C, 'members'>,
      'id' | 'createdAt' | 'updatedAt' | 'email' | 'role' | 'picture' | 'constructor'
    >
  >,
  Is<Equal<DocumentOf<C, 'members'>['email'], string>>,
];

type Deep = DocumentOf<C, 'posts', 10>;
type Any = DocumentOf<C, 'authors', number>;
type Boss<Author extends { boss: unknown }> = Exclude<Author['boss'], string | null>;
export type Depths = [
  Is<Equal<Post['author'], string>>,
  Is<Equal<Post['editor'], string | null>>,
  Is<Equal<Post['related'], string[]>>,
  Is<Equal<DocumentOf<C, 'authors'>, Author0>>,
  Is<Equal<DocumentOf<C, 'posts', 1>['author'], string | Author0>>,
  Is<Equal<DocumentOf<C, 'posts', 1>['editor'], string | Author0 | null>>,
  Is<Equal<DocumentOf<C, 'posts', 1>['related'], (string | Post)[]>>,
  Is<Equal<DocumentOf<C, 'posts', 1>['cover'], string | Whole<Picture<string>> | null>>,
  Is<Equal<DocumentOf<C, 'posts', 2>['cover'], string | Whole<Picture<string | Author0>> | null>>,
  Is<Equal<DocumentOf<C, 'authors', 1>['posts'], (string | Post)[]>>,
  // More than 10 is 10.
  Is<Equal<DocumentOf<C, 'authors', 11>, DocumentOf<C, 'authors', 10>>>,
  Is<Equal<Boss<Exclude<Deep['author'], string>>, Boss<DocumentOf<C, 'authors', 9>>>>,
  // Joins are followed in what was asked for, and nowhere else.
  Is<Equal<Exclude<DocumentOf<C, 'posts', 2>['author'], string>['posts'], string[]>>,
  Is<Equal<Boss<DocumentOf<C, 'authors', 2>>['posts'], string[]>>,
  Is<Equal<Boss<DocumentOf<C, 'authors', 2>>['boss'], string | Author0 | null>>,
  // With an unknown depth, either is possible.
  Is<Equal<Boss<Any>['boss'], string | Boss<Any> | null>>,
  Is<Equal<Any['posts'], (string | DocumentOf<C, 'posts', number>)[]>>,
  Is<Equal<UserOf<C, 'members'>['picture'], string | Whole<Picture<string>> | null>>,
  Is<Equal<GlobalOf<C, 'site', 1>['owner'], string | Author0 | null>>,
];

export type Globals = [
  Is<
    Equal<
      GlobalOf<C, 'site'>,
      {
        createdAt: string | null;
        updatedAt: string | null;
        __status?: 'published' | 'changed' | 'draft';
        __publishedAt?: string | null;
        __review?: 'open' | 'refused' | null;
        __editors?: string[];
        title: string;
        // Required, but not there before it is written first.
        owner: string | null;
        colours: ('red' | 'green')[];
        theme: { dark: boolean | null };
        secret?: string | null;
        mode: 'on' | 'off' | null;
        text: Json;
        parts: { blockType: 'empty' }[];
      }
    >
  >,
  Is<
    Equal<
      GlobalInput<C, 'site'>,
      {
        title?: string;
        owner?: string;
        colours?: readonly ('red' | 'green')[];
        theme?: { dark?: boolean | null };
        secret?: string | null;
        mode?: 'on' | 'off';
        text?: Exclude<ConstantJson, null>;
        parts?: readonly { blockType: 'empty' }[] | null;
        id?: unknown;
        createdAt?: unknown;
        updatedAt?: unknown;
      }
    >
  >,
];

type NewPost = CreateInput<C, 'posts'>;
type NeededIn<T> = { [Key in keyof T]-?: Pick<T, Key> extends Required<Pick<T, Key>> ? Key : never }[keyof T];
export type Inputs = [
  Is<Equal<NeededIn<NewPost>, 'title' | 'author' | 'body'>>,
  Is<Equal<NeededIn<UpdateInput<C, 'posts'>>, never>>,
  Is<Equal<NeededIn<CreateInput<C, 'members'>>, 'email' | 'role'>>,
  Is<Equal<NeededIn<CreateInput<C, 'pictures'>>, 'alt'>>,
  Is<Equal<CreateInput<C, 'members'>['password'], string | undefined>>,
  Is<Equal<NewPost['status'], 'draft' | 'published' | undefined>>,
  Is<Equal<NewPost['editor'], string | null | undefined>>,
  Is<Equal<NewPost['related'], readonly string[] | null | undefined>>,
  Is<Equal<NewPost['settings'], { layout?: 'wide' | 'narrow'; colour?: string | null } | undefined>>,
  Is<Equal<UpdateInput<C, 'posts'>['title'], string | undefined>>,
  Is<Equal<UpdateInput<C, 'posts'>['views'], number | null | undefined>>,
  // A document that was read can be sent back.
  Is<Extends<DocumentOf<C, 'posts'>, UpdateInput<C, 'posts'>>>,
  Is<Extends<DocumentOf<C, 'authors'>, CreateInput<C, 'authors'>>>,
  Is<Extends<DocumentOf<C, 'pictures'>, CreateInput<C, 'pictures'>>>,
  Is<Extends<DocumentOf<C, 'members'>, CreateInput<C, 'members'>>>,
];

declare function where(of: WhereOf<C, 'posts'>): void;
where({});
where({ title: { like: 'x', not_equals: null }, views: { greater_than: 3 }, isPinned: { equals: true } });
where({ tags: { contains: 'news', in: ['tech', null] }, related: { contains: 'an id' }, extra: { exists: true } });
where({ status: { in: ['draft'] }, mood: { equals: null, like: 'so' }, at: { less_than: '2024-01-01' } });
where({
  and: [{ or: [{ id: { equals: 'x' } }, { createdAt: { greater_than: '2024-01-01' } }] }],
  slug: { exists: false },
});
where({ 'seo.title': { equals: 'x' }, 'links.url': { like: 'x' }, 'sections.blockType': { equals: 'quote' } });
where({ 'sections.size': { equals: 's' }, 'sections.by.name': { like: 'x' }, 'author.name': { equals: 'Ada' } });
where({
  'author.boss.name': { equals: 'Ada' },
  'cover.filesize': { less_than: 3 },
  'related.status': { equals: 'draft' },
});
where({ id: { greater_than: 'an id', like: '0' }, 'author.id': { less_than_equal: 'an id' } });
// @ts-expect-error an id is a text
where({ id: { greater_than: 5 } });
// @ts-expect-error not a field
where({ titel: { equals: 'x' } });
// @ts-expect-error not an operator of texts
where({ title: { greater_than: 'x' } });
// @ts-expect-error not a value of this field
where({ status: { equals: 'drft' } });
// @ts-expect-error a number is meant
where({ views: { equals: '3' } });
// @ts-expect-error null is compared by exists
where({ views: { greater_than: null } });
// @ts-expect-error lists are not equal to anything
where({ tags: { equals: 'news' } });
// @ts-expect-error objects are there or not
where({ seo: { equals: 'x' } });
// @ts-expect-error the first block says what a path is, and there it is a text
where({ 'sections.text': { greater_than: 'x' } });
// @ts-expect-error not a field of authors
where({ 'author.nmae': { equals: 'Ada' } });
// @ts-expect-error joins are not filtered by
where({ 'author.posts': { exists: true } });
// @ts-expect-error a path goes on through relationships only
where({ 'author.name.first': { equals: 'Ada' } });
// @ts-expect-error inside too
where({ or: [{ titel: { equals: 'x' } }] });
// @ts-expect-error an operator is needed
where({ title: 'x' });

declare function sort(by: SortOf<C, 'posts'>): void;
sort('title');
sort('-createdAt');
sort('seo.title');
sort('-author.name');
sort('author.boss.name');
// @ts-expect-error not a field
sort('titel');
// @ts-expect-error a list has no single value
sort('tags');
// @ts-expect-error nor has what is in one
sort('links.url');
// @ts-expect-error nor what a list of documents leads to
sort('related.title');
// @ts-expect-error nor an object
sort('seo');

declare function create(post: CreateInput<C, 'posts'>): void;
const post = { title: 'x', author: 'an id', body: { a: [1] } };
create(post);
create({
  ...post,
  id: 1,
  createdAt: null,
  tags: null,
  links: [{ url: 'x' }],
  sections: [{ blockType: 'quote', by: 'x' }],
});
// @ts-expect-error a title is required
create({ author: 'an id', body: 1 });
// @ts-expect-error and is not null
create({ ...post, title: null });
// @ts-expect-error not a field
create({ ...post, titel: 'x' });
// @ts-expect-error not an option
create({ ...post, tags: ['sports'] });
// @ts-expect-error not the field of such a block
create({ ...post, sections: [{ blockType: 'text', by: 'x' }] });
// @ts-expect-error ids are written, not documents
create({ ...post, author: { id: 'an id' } });
// @ts-expect-error required inside
create({ ...post, links: [{ to: null }] });
// @ts-expect-error joins are read only, and ignored only where they are
create({ ...post, posts: [] });

// @ts-expect-error not a collection
export type None = [Is<Equal<CollectionSlug<C>, string>>];

// A configuration of which nothing is known says nothing.
type Loose = { [name: string]: unknown };
export type Untyped = [
  Is<Equal<CollectionSlug<Config>, string>>,
  Is<Equal<AuthSlug<Config>, string>>,
  Is<Equal<GlobalSlug<Config>, string>>,
  Is<Equal<DocumentOf<Config, 'posts', 3>, Stored & Loose>>,
  Is<Equal<CreateInput<Config, string>, Loose>>,
  Is<Equal<SortOf<Config, 'posts'>, string>>,
];
export const looseWhere: WhereOf<Config, 'posts'> = { 'a.b': { equals: 3 }, or: [{ c: { like: 'x' } }] };

// Nor does a plain object, but the compiler cannot refuse it.
const plain = { collections: [{ slug: 'posts', fields: [{ name: 'title', type: 'text' }] }] };
export type PlainObject = [
  Is<Equal<CollectionSlug<typeof plain>, string>>,
  Is<Equal<DocumentOf<typeof plain, 'posts'>, Stored & Loose>>,
];

// A list of fields whose literals are gone takes nothing from the others.
const common: Config['collections'] = [];
const some = common[0]?.fields ?? [];
const partly = defineConfig({
  collections: [{ slug: 'posts', fields: [{ name: 'title', type: 'text', required: true }, ...some] }],
});
type Partly = DocumentOf<typeof partly, 'posts'>;
export type PartlyKnown = [
  Is<Equal<Partly['title'], string>>,
  Is<Equal<Partly['other'], unknown>>,
  Is<Extends<{ title: string; other: 3 }, CreateInput<typeof partly, 'posts'>>>,
];

// A collection in a file of its own keeps its literals in this way.
const tags = {
  slug: 'tags',
  access: { read: ({ user }) => user !== null },
  fields: [{ name: 'kind', type: 'select', options: ['a', 'b'], required: true }],
} as const satisfies CollectionConfig;
const apart = defineConfig({ collections: [tags] });
export type Apart = [
  Is<Equal<CollectionSlug<typeof apart>, 'tags'>>,
  Is<Equal<DocumentOf<typeof apart, 'tags'>['kind'], 'a' | 'b'>>,
];

type Country = DocumentOf<typeof atlas, 'countries', 1>;
export type Atlas = [
  Is<Equal<Country['status'], 'officially-assigned' | 'user-assigned'>>,
  Is<Equal<Country['location'], { latitude: number; longitude: number }>>,
  Is<Equal<Exclude<Country['region'], string>['countries'], string[]>>,
];

const onlyGlobals = defineConfig({ globals: [{ slug: 'site', fields: [{ name: 'title', type: 'text' }] }] });
export type NoCollections = [
  Is<Equal<CollectionSlug<typeof onlyGlobals>, never>>,
  Is<Equal<GlobalOf<typeof onlyGlobals, 'site'>['title'], string | null>>,
];

export const member: CreateInput<C, 'members'> = { email: 'x', role: 'chief' };

// The output of `annals types` says the same, to the letter.
type Same<Name extends CollectionSlug<C>> = [
  Equal<DocumentOf<Annals, Name>, DocumentOf<C, Name>>,
  Equal<DocumentOf<Annals, Name, 1>, DocumentOf<C, Name, 1>>,
  Equal<DocumentOf<Annals, Name, 2>, DocumentOf<C, Name, 2>>,
  Equal<DocumentOf<Annals, Name, 10>, DocumentOf<C, Name, 10>>,
  Equal<DocumentOf<Annals, Name, 12>, DocumentOf<C, Name, 12>>,
  Equal<DocumentOf<Annals, Name, number>, DocumentOf<C, Name, number>>,
  Equal<CreateInput<Annals, Name>, CreateInput<C, Name>>,
  Equal<UpdateInput<Annals, Name>, UpdateInput<C, Name>>,
  Equal<WhereOf<Annals, Name>, WhereOf<C, Name>>,
  Equal<SortOf<Annals, Name>, SortOf<C, Name>>,
  Equal<GroupPathOf<Annals, Name>, GroupPathOf<C, Name>>,
  Equal<NumberPathOf<Annals, Name>, NumberPathOf<C, Name>>,
  Equal<OrderedPathOf<Annals, Name>, OrderedPathOf<C, Name>>,
  Equal<UniquePathOf<Annals, Name>, UniquePathOf<C, Name>>,
][number];
type SameGlobal<Name extends GlobalSlug<C>> = [
  Equal<GlobalOf<Annals, Name>, GlobalOf<C, Name>>,
  Equal<GlobalOf<Annals, Name, 1>, GlobalOf<C, Name, 1>>,
  Equal<GlobalOf<Annals, Name, 3>, GlobalOf<C, Name, 3>>,
  Equal<GlobalInput<Annals, Name>, GlobalInput<C, Name>>,
][number];
export type Written = [
  Is<Equal<CollectionSlug<Annals>, CollectionSlug<C>>>,
  Is<Equal<AuthSlug<Annals>, AuthSlug<C>>>,
  Is<Equal<UploadSlug<Annals>, UploadSlug<C>>>,
  Is<Equal<GlobalSlug<Annals>, GlobalSlug<C>>>,
  Is<Equal<UserOf<Annals, 'members'>, UserOf<C, 'members'>>>,
  Is<Same<'posts'>>,
  Is<Same<'authors'>>,
  Is<Same<'pictures'>>,
  Is<Same<'members'>>,
  Is<Same<'post-create'>>,
  Is<SameGlobal<'site'>>,
  Is<SameGlobal<'post'>>,
  // A client that is typed by the file answers its interfaces.
  Is<Equal<DocumentOf<Annals, 'posts', 1>, WrittenPost<1>>>,
];

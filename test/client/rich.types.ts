// Written by `annals types`. To change it, change the configuration and run that again.

/** All types of this service: `createClient<Annals>({ … })`. */
export type Annals = {
  collections: {
    posts: PostTypes;
    authors: AuthorTypes;
    pictures: PicturesTypes;
    members: MembersTypes;
    'post-create': PostCreate2Types;
  };
  globals: {
    site: SiteTypes;
    post: Post2Types;
  };
};

/** A document of `posts`; with a depth, documents replace ids. */
export interface Post<Depth extends number = 0> {
  id: string;
  createdAt: string;
  updatedAt: string;
  /** Title. Shown in lists. */
  title: string;
  slug: string | null;
  status: PostStatus;
  /**
   * Mood *\/ 1. a
   * b
   */
  mood: PostMood | null;
  tags: PostTags[];
  author: Related<Author<Below<Depth>, 0>, Depth>;
  editor: Related<Author<Below<Depth>, 0>, Depth> | null;
  related: Related<Post<Below<Depth>>, Depth>[];
  cover: Related<Pictures<Below<Depth>>, Depth> | null;
  views: number | null;
  isPinned: boolean;
  site: string | null;
  day: string | null;
  at: string | null;
  hour: string | null;
  body: Exclude<Json, null>;
  extra: Json;
  contact: string | null;
  notes?: string | null;
  log: string | null;
  seo: PostSeo<Depth> | null;
  settings: PostSettings;
  links: PostLinks<Depth>[];
  sections: PostSections<Depth>[];
}

/** The options of `Post.status`. */
export type PostStatus = 'draft' | 'published';

/** The options of `Post.mood`. */
export type PostMood = "it's" | 'so "so"' | '*/';

/** The options of `Post.tags`. */
export type PostTags = 'news' | 'tech';

/** The fields of `Post.seo`. */
export interface PostSeo<Depth extends number = 0> {
  title: string;
  hidden?: boolean | null;
  image: Related<Pictures<Below<Depth>>, Depth> | null;
}

/** The fields of `Post.seo`. */
export interface PostSeoInput {
  title: string;
  hidden?: boolean | null;
  image?: string | null;
}

/** The options of `Post.settings.layout`. */
export type PostSettingsLayout = 'wide' | 'narrow';

/** The fields of `Post.settings`. */
export interface PostSettings {
  layout: PostSettingsLayout;
  colour: string | null;
}

/** The fields of `Post.settings`. */
export interface PostSettingsInput {
  layout?: PostSettingsLayout;
  colour?: string | null;
}

/** An item of `Post.links`. */
export interface PostLinks<Depth extends number = 0> {
  url: string;
  to: Related<Post<Below<Depth>>, Depth> | null;
}

/** An item of `Post.links`. */
export interface PostLinksInput {
  url: string;
  to?: string | null;
}

/** The options of `Post.sections.size`. */
export type PostSectionsTextSize = 's' | 'm';

/** A block of `Post.sections`. */
export interface PostSectionsText {
  blockType: 'text';
  text: string;
  size: PostSectionsTextSize | null;
}

/** A block of `Post.sections`. */
export interface PostSectionsTextInput {
  blockType: 'text';
  text: string;
  size?: PostSectionsTextSize | null;
}

/** A block of `Post.sections`. */
export interface PostSectionsQuote<Depth extends number = 0> {
  blockType: 'quote';
  text: Json;
  by: Related<Author<Below<Depth>, 0>, Depth>;
  people: Related<Author<Below<Depth>, 0>, Depth>[];
}

/** A block of `Post.sections`. */
export interface PostSectionsQuoteInput {
  blockType: 'quote';
  text?: JsonInput;
  by: string;
  people?: readonly string[] | null;
}

/** The types of the blocks of `Post.sections`. */
export type PostSectionsType = 'text' | 'quote';

export type PostSections<Depth extends number = 0> = PostSectionsText | PostSectionsQuote<Depth>;

export type PostSectionsInput = PostSectionsTextInput | PostSectionsQuoteInput;

/** The data of a new document of `posts`. */
export interface PostCreate {
  /** Title. Shown in lists. */
  title: string;
  slug?: string | null;
  status?: PostStatus;
  /**
   * Mood *\/ 1. a
   * b
   */
  mood?: PostMood | null;
  tags?: readonly PostTags[] | null;
  author: string;
  editor?: string | null;
  related?: readonly string[] | null;
  cover?: string | null;
  views?: number | null;
  isPinned?: boolean;
  site?: string | null;
  day?: string | null;
  at?: string | null;
  hour?: string | null;
  body: Exclude<JsonInput, null>;
  extra?: JsonInput;
  contact?: string | null;
  notes?: string | null;
  log?: string | null;
  seo?: PostSeoInput | null;
  settings?: PostSettingsInput;
  links?: readonly PostLinksInput[] | null;
  sections?: readonly PostSectionsInput[] | null;
  id?: unknown;
  createdAt?: unknown;
  updatedAt?: unknown;
}

/** The changes of a document of `posts`. */
export interface PostUpdate {
  /** Title. Shown in lists. */
  title?: string;
  slug?: string | null;
  status?: PostStatus;
  /**
   * Mood *\/ 1. a
   * b
   */
  mood?: PostMood | null;
  tags?: readonly PostTags[] | null;
  author?: string;
  editor?: string | null;
  related?: readonly string[] | null;
  cover?: string | null;
  views?: number | null;
  isPinned?: boolean;
  site?: string | null;
  day?: string | null;
  at?: string | null;
  hour?: string | null;
  body?: Exclude<JsonInput, null>;
  extra?: JsonInput;
  contact?: string | null;
  notes?: string | null;
  log?: string | null;
  seo?: PostSeoInput | null;
  settings?: PostSettingsInput;
  links?: readonly PostLinksInput[] | null;
  sections?: readonly PostSectionsInput[] | null;
  id?: unknown;
  createdAt?: unknown;
  updatedAt?: unknown;
}

/** The paths that lists of `posts` are filtered by, beside those in related documents. */
export interface PostFilters {
  id: IdFilter;
  createdAt: OrderFilter<string>;
  updatedAt: OrderFilter<string>;
  title: TextFilter;
  slug: TextFilter;
  status: TextFilter<PostStatus>;
  mood: TextFilter<PostMood>;
  tags: ListFilter<PostTags>;
  author: TextFilter;
  editor: TextFilter;
  related: ListFilter<string>;
  cover: TextFilter;
  views: OrderFilter<number>;
  isPinned: ValueFilter<boolean>;
  site: TextFilter;
  day: OrderFilter<string>;
  at: OrderFilter<string>;
  hour: OrderFilter<string>;
  body: PresenceFilter;
  extra: PresenceFilter;
  contact: TextFilter;
  notes: TextFilter;
  log: TextFilter;
  seo: PresenceFilter;
  'seo.title': TextFilter;
  'seo.hidden': ValueFilter<boolean>;
  'seo.image': TextFilter;
  settings: PresenceFilter;
  'settings.layout': TextFilter<PostSettingsLayout>;
  'settings.colour': TextFilter;
  links: PresenceFilter;
  'links.url': TextFilter;
  'links.to': TextFilter;
  sections: PresenceFilter;
  'sections.blockType': TextFilter<PostSectionsType>;
  'sections.text': TextFilter;
  'sections.size': TextFilter<PostSectionsTextSize>;
  'sections.by': TextFilter;
  'sections.people': ListFilter<string>;
}

/** The paths that lists of `posts` are sorted by, beside those in related documents. */
export type PostSorts =
  | 'id'
  | 'createdAt'
  | 'updatedAt'
  | 'title'
  | 'slug'
  | 'status'
  | 'mood'
  | 'author'
  | 'editor'
  | 'cover'
  | 'views'
  | 'isPinned'
  | 'site'
  | 'day'
  | 'at'
  | 'hour'
  | 'contact'
  | 'notes'
  | 'log'
  | 'seo.title'
  | 'seo.hidden'
  | 'seo.image'
  | 'settings.layout'
  | 'settings.colour';

/** The types of `posts` for a client. */
export interface PostTypes {
  kind: 'documents';
  userDepth: 0;
  depth: number;
  document: Post<this['depth']>;
  create: PostCreate;
  update: PostUpdate;
  filters: PostFilters;
  sorts: PostSorts;
  unique: 'slug';
  numbers: 'views';
  times: 'createdAt' | 'updatedAt' | 'day' | 'at' | 'hour';
  days: 'createdAt' | 'updatedAt' | 'day' | 'at';
  relations: {
    author: 'authors';
    editor: 'authors';
    cover: 'pictures';
    'seo.image': 'pictures';
  };
  lists: {
    related: 'posts';
    'links.to': 'posts';
    'sections.by': 'authors';
    'sections.people': 'authors';
  };
  joins: Record<never, never>;
}

/** A document of `authors`; with a depth, documents replace ids. */
export interface Author<Depth extends number = 0, JoinDepth extends number = Depth> {
  id: string;
  createdAt: string;
  updatedAt: string;
  name: string;
  boss: Related<Author<Below<Depth>, 0>, Depth> | null;
  posts: Related<Post<Below<Depth>>, JoinDepth>[];
}

/** The data of a new document of `authors`. */
export interface AuthorCreate {
  name: string;
  boss?: string | null;
  id?: unknown;
  createdAt?: unknown;
  updatedAt?: unknown;
  posts?: unknown;
}

/** The changes of a document of `authors`. */
export interface AuthorUpdate {
  name?: string;
  boss?: string | null;
  id?: unknown;
  createdAt?: unknown;
  updatedAt?: unknown;
  posts?: unknown;
}

/** The paths that lists of `authors` are filtered by, beside those in related documents. */
export interface AuthorFilters {
  id: IdFilter;
  createdAt: OrderFilter<string>;
  updatedAt: OrderFilter<string>;
  name: TextFilter;
  boss: TextFilter;
}

/** The paths that lists of `authors` are sorted by, beside those in related documents. */
export type AuthorSorts = 'id' | 'createdAt' | 'updatedAt' | 'name' | 'boss';

/** The types of `authors` for a client. */
export interface AuthorTypes {
  kind: 'documents';
  userDepth: 0;
  depth: number;
  document: Author<this['depth']>;
  create: AuthorCreate;
  update: AuthorUpdate;
  filters: AuthorFilters;
  sorts: AuthorSorts;
  unique: never;
  numbers: never;
  times: 'createdAt' | 'updatedAt';
  days: 'createdAt' | 'updatedAt';
  relations: {
    boss: 'authors';
  };
  lists: Record<never, never>;
  joins: {
    posts: 'posts';
  };
}

/** A document of `pictures`; with a depth, documents replace ids. */
export interface Pictures<Depth extends number = 0> {
  id: string;
  createdAt: string;
  updatedAt: string;
  filename: string;
  mimeType: string;
  filesize: number;
  width: number | null;
  height: number | null;
  sha256: string;
  url: string;
  alt: string;
  by: Related<Author<Below<Depth>, 0>, Depth> | null;
}

/** The data of a new document of `pictures`. */
export interface PicturesCreate {
  alt: string;
  by?: string | null;
  id?: unknown;
  createdAt?: unknown;
  updatedAt?: unknown;
  filename?: unknown;
  mimeType?: unknown;
  filesize?: unknown;
  width?: unknown;
  height?: unknown;
  sha256?: unknown;
  url?: unknown;
}

/** The changes of a document of `pictures`. */
export interface PicturesUpdate {
  alt?: string;
  by?: string | null;
  id?: unknown;
  createdAt?: unknown;
  updatedAt?: unknown;
  filename?: unknown;
  mimeType?: unknown;
  filesize?: unknown;
  width?: unknown;
  height?: unknown;
  sha256?: unknown;
  url?: unknown;
}

/** The paths that lists of `pictures` are filtered by, beside those in related documents. */
export interface PicturesFilters {
  id: IdFilter;
  createdAt: OrderFilter<string>;
  updatedAt: OrderFilter<string>;
  filename: TextFilter;
  mimeType: TextFilter;
  filesize: OrderFilter<number>;
  width: OrderFilter<number>;
  height: OrderFilter<number>;
  sha256: TextFilter;
  url: TextFilter;
  alt: TextFilter;
  by: TextFilter;
}

/** The paths that lists of `pictures` are sorted by, beside those in related documents. */
export type PicturesSorts =
  | 'id'
  | 'createdAt'
  | 'updatedAt'
  | 'filename'
  | 'mimeType'
  | 'filesize'
  | 'width'
  | 'height'
  | 'sha256'
  | 'url'
  | 'alt'
  | 'by';

/** The types of `pictures` for a client. */
export interface PicturesTypes {
  kind: 'files';
  userDepth: 0;
  depth: number;
  document: Pictures<this['depth']>;
  create: PicturesCreate;
  update: PicturesUpdate;
  filters: PicturesFilters;
  sorts: PicturesSorts;
  unique: never;
  numbers: 'filesize' | 'width' | 'height';
  times: 'createdAt' | 'updatedAt';
  days: 'createdAt' | 'updatedAt';
  relations: {
    by: 'authors';
  };
  lists: Record<never, never>;
  joins: Record<never, never>;
}

/** A document of `members`; with a depth, documents replace ids. */
export interface Members<Depth extends number = 0> {
  id: string;
  createdAt: string;
  updatedAt: string;
  email: string;
  picture: Related<Pictures<Below<Depth>>, Depth> | null;
  role: MembersRole;
  constructor: string | null;
}

/** The options of `Members.role`. */
export type MembersRole = 'chief' | 'reader';

/** The data of a new document of `members`. */
export interface MembersCreate {
  email: string;
  picture?: string | null;
  role: MembersRole;
  constructor?: string | null | typeof Object.prototype.constructor;
  password?: string;
  id?: unknown;
  createdAt?: unknown;
  updatedAt?: unknown;
}

/** The changes of a document of `members`. */
export interface MembersUpdate {
  email?: string;
  picture?: string | null;
  role?: MembersRole;
  constructor?: string | null | typeof Object.prototype.constructor;
  password?: string;
  id?: unknown;
  createdAt?: unknown;
  updatedAt?: unknown;
}

/** The paths that lists of `members` are filtered by, beside those in related documents. */
export interface MembersFilters {
  id: IdFilter;
  createdAt: OrderFilter<string>;
  updatedAt: OrderFilter<string>;
  email: TextFilter;
  picture: TextFilter;
  role: TextFilter<MembersRole>;
  constructor: TextFilter;
}

/** The paths that lists of `members` are sorted by, beside those in related documents. */
export type MembersSorts = 'id' | 'createdAt' | 'updatedAt' | 'email' | 'picture' | 'role' | 'constructor';

/** The types of `members` for a client. */
export interface MembersTypes {
  kind: 'accounts';
  userDepth: 1;
  depth: number;
  document: Members<this['depth']>;
  create: MembersCreate;
  update: MembersUpdate;
  filters: MembersFilters;
  sorts: MembersSorts;
  unique: 'email';
  numbers: never;
  times: 'createdAt' | 'updatedAt';
  days: 'createdAt' | 'updatedAt';
  relations: {
    picture: 'pictures';
  };
  lists: Record<never, never>;
  joins: Record<never, never>;
}

/** A document of `post-create`. */
export interface PostCreate2 {
  id: string;
  createdAt: string;
  updatedAt: string;
  __status?: 'published' | 'changed' | 'draft';
  __publishedAt?: string | null;
  __review?: 'open' | 'refused' | null;
  __editors?: string[];
  x: number | null;
  nothing: PostCreate2Nothing | null;
}

/** The fields of `PostCreate2.nothing`. */
export type PostCreate2Nothing = Record<never, never>;

/** The fields of `PostCreate2.nothing`. */
export type PostCreate2NothingInput = Record<never, never>;

/** The data of a new document of `post-create`. */
export interface PostCreate2Create {
  x?: number | null;
  nothing?: PostCreate2NothingInput | null;
  id?: unknown;
  createdAt?: unknown;
  updatedAt?: unknown;
}

/** The changes of a document of `post-create`. */
export interface PostCreate2Update {
  x?: number | null;
  nothing?: PostCreate2NothingInput | null;
  id?: unknown;
  createdAt?: unknown;
  updatedAt?: unknown;
}

/** The paths that lists of `post-create` are filtered by, beside those in related documents. */
export interface PostCreate2Filters {
  id: IdFilter;
  createdAt: OrderFilter<string>;
  updatedAt: OrderFilter<string>;
  __status: TextFilter<'published' | 'changed' | 'draft'>;
  __publishedAt: OrderFilter<string>;
  __review: TextFilter<'open' | 'refused'>;
  __editors: ListFilter<string>;
  x: OrderFilter<number>;
  nothing: PresenceFilter;
}

/** The paths that lists of `post-create` are sorted by, beside those in related documents. */
export type PostCreate2Sorts = 'id' | 'createdAt' | 'updatedAt' | '__status' | '__publishedAt' | '__review' | 'x';

/** The types of `post-create` for a client. */
export interface PostCreate2Types {
  kind: 'documents';
  userDepth: 0;
  depth: number;
  document: PostCreate2;
  create: PostCreate2Create;
  update: PostCreate2Update;
  filters: PostCreate2Filters;
  sorts: PostCreate2Sorts;
  unique: never;
  numbers: 'x';
  times: 'createdAt' | 'updatedAt' | '__publishedAt';
  days: 'createdAt' | 'updatedAt' | '__publishedAt';
  relations: Record<never, never>;
  lists: Record<never, never>;
  joins: Record<never, never>;
}

/** The global `site`; with a depth, documents replace ids. A field without a default is null before it is written. */
export interface Site<Depth extends number = 0> {
  createdAt: string | null;
  updatedAt: string | null;
  __status?: 'published' | 'changed' | 'draft';
  __publishedAt?: string | null;
  __review?: 'open' | 'refused' | null;
  __editors?: string[];
  title: string;
  owner: Related<Author<Below<Depth>, 0>, Depth> | null;
  colours: SiteColours[];
  theme: SiteTheme;
  secret?: string | null;
  mode: SiteMode | null;
  text: Exclude<Json, null> | null;
  parts: SiteParts[];
}

/** The options of `Site.colours`. */
export type SiteColours = 'red' | 'green';

/** The fields of `Site.theme`. */
export interface SiteTheme {
  dark: boolean | null;
}

/** The fields of `Site.theme`. */
export interface SiteThemeInput {
  dark?: boolean | null;
}

/** The options of `Site.mode`. */
export type SiteMode = 'on' | 'off';

/** A block of `Site.parts`. */
export interface SitePartsEmpty {
  blockType: 'empty';
}

/** A block of `Site.parts`. */
export interface SitePartsEmptyInput {
  blockType: 'empty';
}

/** The types of the blocks of `Site.parts`. */
export type SitePartsType = 'empty';

export type SiteParts = SitePartsEmpty;

export type SitePartsInput = SitePartsEmptyInput;

/** The changes of the global `site`. */
export interface SiteUpdate {
  title?: string;
  owner?: string;
  colours?: readonly SiteColours[];
  theme?: SiteThemeInput;
  secret?: string | null;
  mode?: SiteMode;
  text?: Exclude<JsonInput, null>;
  parts?: readonly SitePartsInput[] | null;
  id?: unknown;
  createdAt?: unknown;
  updatedAt?: unknown;
}

/** The types of `site` for a client. */
export interface SiteTypes {
  depth: number;
  document: Site<this['depth']>;
  update: SiteUpdate;
}

/** The global `post`. A field without a default is null before it is written. */
export interface Post2 {
  createdAt: string | null;
  updatedAt: string | null;
  x: number | null;
}

/** The changes of the global `post`. */
export interface Post2Update {
  x?: number | null;
  id?: unknown;
  createdAt?: unknown;
  updatedAt?: unknown;
}

/** The types of `post` for a client. */
export interface Post2Types {
  depth: number;
  document: Post2;
  update: Post2Update;
}

/** An id; or, asked for with a depth, the document. One that is gone or may not be read stays its id. */
export type Related<Item, Depth extends number> = Depth extends 0 ? string : string | Item;

/** The depth that is left on the next level. More than 10 is 10. */
export type Below<Depth extends number> = number extends Depth ? number : [0, 0, 1, 2, 3, 4, 5, 6, 7, 8, ...9[]][Depth];

/** A JSON value. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** A JSON value to be sent. */
export type JsonInput = null | boolean | number | string | readonly JsonInput[] | { readonly [key: string]: JsonInput };

/** The operators of a field with a single value. */
export interface ValueFilter<Value> {
  equals?: Value | null;
  not_equals?: Value | null;
  in?: readonly (Value | null)[];
  not_in?: readonly (Value | null)[];
  exists?: boolean;
}

/** Those of texts, options and ids. `like` finds a part of it, without regard to case. */
export interface TextFilter<Value extends string = string> extends ValueFilter<Value> {
  like?: string;
}

/** Those of numbers, dates and times. */
export interface OrderFilter<Value> extends ValueFilter<Value> {
  greater_than?: Value;
  less_than?: Value;
  greater_than_equal?: Value;
  less_than_equal?: Value;
}

/** Those of the id of a document, which is greater the later it was made. */
export interface IdFilter extends TextFilter, OrderFilter<string> {}

/** Those of lists of options or ids. */
export interface ListFilter<Value> {
  contains?: Value;
  in?: readonly (Value | null)[];
  not_in?: readonly (Value | null)[];
  exists?: boolean;
}

/** The operator of values that cannot be compared: objects, lists of them, JSON. */
export interface PresenceFilter {
  exists?: boolean;
}

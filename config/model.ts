import type {
  Category,
  CollectionSchema,
  FieldSchema,
  GlobalSchema,
  Json,
  JsonObject,
  RichTextOptions,
  Rules,
  Schema,
} from './schema.ts';

/** A user, as access rules and hooks see it: the raw document of the account without its password. */
export type User = JsonObject & { id: string; collection: string };

/** The part of a request that access rules and hooks see, without socket and credentials. */
export type RequestView = { method: string; path: string; headers: Readonly<Record<string, string>>; ip: string };

/** The argument of an access rule. `doc` is null if there is no document yet. */
export type AccessArgs = { user: User | null; doc: JsonObject | null; data: JsonObject | null; req: RequestView };

/** The answer of an access rule: true, false, or a `where` object, which allows the documents that match it. */
export type AccessResult = boolean | JsonObject;
/** Decides whether a call may do something to a document, or to which documents. A rule that throws counts as false. */
export type AccessRule = (args: AccessArgs) => AccessResult | Promise<AccessResult>;
/** The descriptions of rules, by what the rules decide about. */
export type RuleWords = { [decides: string]: string };
/** The operations on a document. */
export type Operation = 'read' | 'create' | 'update' | 'delete';
/**
 * The argument of a publish rule. `doc` is the draft, `published` the public document, null if the document is not
 * public. `editors` are the authors of the changes that are not public, each once, as `actor.id` in events: a user as
 * `users/<id>` with the present slug, an API key as its opaque id.
 */
export type PublishArgs = AccessArgs & { published: JsonObject | null; editors: readonly string[]; locale: null };

/** Decides whether a call may change the public state of a document, or of which documents. */
export type PublishRule = (args: PublishArgs) => AccessResult | Promise<AccessResult>;

/**
 * The access rules of a collection or global, by operation. `readDrafts` and `publish` are only there if it has drafts;
 * each defaults to the rule `update`.
 */
export type Access = { [operation in Operation]?: AccessRule } & { readDrafts?: AccessRule; publish?: PublishRule };

/**
 * A right to the history. `headers`: actor, time and document of each change, and proofs of the change. `payloads`: the
 * content and reason of each change, and past states of documents; it includes `headers`. `export`: taking large parts
 * of the history out at once.
 */
export type AuditScope = 'headers' | 'payloads' | 'export';

/** A right to the history that an API key may have, or the right to erase. */
export type KeyAudit = AuditScope | 'erase';

/** An operation that a scope of an API key may hold. `draft`: to read and save drafts, and not to publish. */
export type KeyOperation = Operation | 'draft';

/**
 * Operations that an API key may do on some collections and globals. `*` stands for all, including those of later
 * configurations.
 */
export type KeyScope = {
  collections: readonly string[] | '*';
  globals: readonly string[] | '*';
  operations: readonly KeyOperation[];
};

/** The argument of an audit rule: a user, or the opaque id of an API key. Both are null without a credential. */
export type AuditArgs = { user: User | null; apiKey: string | null; req: RequestView };

/**
 * The answer of an audit rule: true for all scopes, false for none, a list of scopes, or an object in which the scopes
 * are true.
 */
export type AuditAnswer = boolean | readonly AuditScope[] | { readonly [scope in AuditScope]?: boolean };

/** Decides about access to the history. The payloads that it grants are shown whatever the `read` rules say. */
export type AuditRule = (args: AuditArgs) => AuditAnswer | Promise<AuditAnswer>;

/**
 * Decides whether a caller may make, list and revoke API keys. The caller is a user, or an API key of the environment.
 */
export type KeyRule = (args: AuditArgs) => boolean | Promise<boolean>;

/**
 * The argument of an erase rule: the argument of an audit rule, and the document. `doc` is the stored document, or the
 * last state of a deleted one. It is null if no state is known: the document never existed, was erased, or its
 * collection is no longer configured.
 */
export type EraseArgs = AuditArgs & { collection: string; id: string; doc: JsonObject | null };

/** Decides whether a caller may erase a document. The caller is a user, or an API key of the environment. */
export type EraseRule = (args: EraseArgs) => boolean | Promise<boolean>;

/** The operations on releases. */
export type ReleaseOperation = 'read' | 'create' | 'update' | 'publish' | 'delete';

/** The argument of a rule about releases. */
export type ReleaseArgs = AuditArgs & { operation: ReleaseOperation };

/**
 * Decides whether a caller may do something with releases; the `publish` rules decide about the documents in them. The
 * caller is a user, or an API key of the environment.
 */
export type ReleaseRule = (args: ReleaseArgs) => boolean | Promise<boolean>;

/** Decides whether a call may read or write a field. A rule that throws counts as false. */
export type FieldRule = (args: AccessArgs) => boolean | Promise<boolean>;
/**
 * The access rules of a field. Without a rule, every caller who may read or write the document may do so with the
 * field.
 */
export type FieldAccess = { read?: FieldRule; create?: FieldRule; update?: FieldRule };

/** The argument of a hook. */
export type HookArgs = {
  /** The logged-in user; null without one. */
  user: User | null;
  req: RequestView;
  operation: Operation;
  /** Before a change: the fields to be written. After a change or on a read: the whole document. */
  data: JsonObject;
  /** The document before the change; null on create. */
  doc: JsonObject | null;
};
/**
 * A function that may change `data`: it returns the new `data`, or nothing to leave `data` unchanged. If a hook throws
 * before the change is recorded, the call is refused.
 */
export type Hook = (args: HookArgs) => JsonObject | undefined | Promise<JsonObject | undefined>;
/** The argument of a publish hook: `data` is the draft, `published` the public document, null without one. */
export type PublishHookArgs = HookArgs & { published: JsonObject | null };
/**
 * A function that runs when a draft is published. Before, it may return new `data`, which is saved in the draft first,
 * or throw: then nothing is published.
 */
export type PublishHook = (args: PublishHookArgs) => JsonObject | undefined | Promise<JsonObject | undefined>;

/**
 * The hooks of a collection or global. They run in order, each on the result of the one before. Only one that has
 * drafts has hooks of publishing.
 */
export type Hooks = { [when in `${'before' | 'after'}${'Change' | 'Read' | 'Delete'}`]?: Hook[] } & {
  [when in `${'before' | 'after'}Publish`]?: PublishHook[];
};

/** The argument of a field hook: the argument of a hook, and the `value` of the field. */
export type FieldHookArgs = HookArgs & { value: Json };
/**
 * A function that may change the value of a field: it returns the new value, null for no value, or nothing to leave the
 * value unchanged.
 */
export type FieldHook = (args: FieldHookArgs) => Json | undefined | Promise<Json | undefined>;
/** The hooks of a field. The hooks of inner fields run first. */
export type FieldHooks = { beforeChange?: FieldHook[]; afterRead?: FieldHook[] };

/** A field with its functions. There is no `row` here: the fields of a row are on the level of their values. */
export type Field = Omit<FieldSchema, 'name' | 'fields' | 'blocks'> & {
  name: string;
  /** Makes the default of a new value; absent without a default. */
  makeDefault?: () => Json;
  /** The e-mail that identifies an account, stored and compared in the form of `normalEmail`. */
  isAccountEmail?: true;
  /** The id that the service assigns: a later document has a greater id. */
  isDocumentId?: true;
  /** A property of an uploaded file that the service determines. It is ignored in a body. */
  isServerMade?: true;
  access?: FieldAccess;
  ruleWords?: RuleWords;
  hooks?: FieldHooks;
  fields?: Field[];
  blocks?: { slug: string; fields: Field[] }[];
};

/**
 * The options of drafts, with all defaults. `validates`: a draft must be as valid as a public document. `publishedAt`:
 * the `datetime` field that gets the time of the first publication if it is empty; null for no field.
 */
export type DraftOptions = { validates: boolean; publishedAt: string | null };

/**
 * The options of an upload collection. `maxFileSize` is in bytes; `mimeTypes` are types such as `image/png` or
 * `image/*`, null for any type.
 */
export type UploadOptions = { maxFileSize: number; mimeTypes: readonly string[] | null };

/** The options of an auth collection (contract, section 5), with all defaults. Times are in seconds. */
export type AuthOptions = {
  tokenExpiration: number;
  maxLoginAttempts: number;
  lockTime: number;
  useAPIKey: boolean;
  depth: number;
  /** Null: no cookie is set or read. `secure: null`: only in production. */
  cookies: { secure: boolean | null; sameSite: 'Strict' | 'Lax' | 'None'; domain: string | null } | null;
};

/** URLs of the author's own pages, to which mails link. A link with a token has it in the query parameter `token`. */
export type AccountUrls = { acceptInvite?: string; resetPassword?: string; login?: string };

/**
 * The mails about accounts (contract, section 6), about requests for review, and about releases that could not be
 * published at their time.
 */
export type MailKind =
  | 'invitation'
  | 'welcome'
  | 'passwordReset'
  | 'passwordChanged'
  | 'reviewRequested'
  | 'reviewRefused'
  | 'releaseFailed';

/**
 * A request for review that a mail is about. The document is of `collection`, or is the global `global`, whose `id` is
 * null. `version` is the version that it asks about. `by` is the user who requested or refused it; null for an API key,
 * or if the user was deleted. The mail has no value of the document: its recipient may not be allowed to read drafts.
 */
export type MailReview = {
  collection: string | null;
  global: string | null;
  id: string | null;
  version: number;
  note: string | null;
  by: User | null;
};

/**
 * The argument of a mail template. `user` is null for an invitation; `url` is null if the mail has no link, `expiresAt`
 * if the link does not expire, `review` and `release` if the mail is not about one.
 */
export type MailArgs = {
  collection: string;
  email: string;
  user: User | null;
  url: string | null;
  expiresAt: Date | null;
  review: MailReview | null;
  release: { id: string; title: string } | null;
};

/** Functions that make the parts of a mail. A part without a function keeps the default text. */
export type MailTemplate = { [part in 'subject' | 'text' | 'html']?: (args: MailArgs) => string | Promise<string> };

/**
 * How the service sends mail. `transport` is an SMTP URL, or the options of a nodemailer transport. Settings may supply
 * absent members.
 */
export type EmailOptions = {
  from?: string;
  transport?: string | object;
  templates: { [kind in MailKind]?: MailTemplate };
};

/**
 * The type of an event that a webhook can receive. The first seven are about what is public; those about drafts and
 * reviews are delivered only if they are named.
 */
export type WebhookEvent =
  | 'document.created'
  | 'document.updated'
  | 'document.deleted'
  | 'document.restored'
  | 'document.erased'
  | 'global.updated'
  | 'global.restored'
  | 'release.failed'
  | `document.draft.${'created' | 'updated' | 'restored' | 'discarded'}`
  | `global.draft.${'updated' | 'restored' | 'discarded'}`
  | `review.${'requested' | 'withdrawn' | 'refused'}`;

/** A webhook, with all defaults. `url` and `secret` must not appear in answers and messages. */
export type Webhook = {
  name: string;
  url: string;
  /** `whsec_`, followed by the key in base64. */
  secret: string;
  collections: readonly string[] | '*';
  globals: readonly string[] | '*';
  events: readonly WebhookEvent[];
  /** A filter that the document must match before or after the event; null for every document. */
  where: object | null;
  allowPrivate: boolean;
};

/** The maximum number of calls of the public account routes per minute. */
export type RateLimit = { address: number; email: number };

/** The title, version and description of the OpenAPI document, if configured; `description` may be Markdown. */
export type OpenApiInfo = { title?: string; version?: string; description?: string };

/**
 * The options of the admin application. `logo` is its address, null for the logo of Annals. `user` is the auth
 * collection of its users, null for the collection that `adminCollectionOf` finds.
 */
export type AdminOptions = { title: string; logo: string | null; user: string | null };

/** A checked collection, with all defaults. */
export type Collection = {
  kind: 'collection';
  slug: string;
  category: Category;
  fields: Field[];
  /** Null: the documents are not accounts. */
  auth: AuthOptions | null;
  /** Null: the documents are not files. */
  upload: UploadOptions | null;
  /** Null: every write is public at once. */
  drafts: DraftOptions | null;
  urls: AccountUrls;
  /** True: every reader of a document may read its past states. */
  hasPublicHistory: boolean;
  requiresReason: boolean;
  /** True: callers may query by stored values, although read hooks of the collection may change them. */
  isQueryable: boolean;
  access: Access;
  ruleWords: RuleWords;
  hooks: Hooks;
  schema: CollectionSchema;
};

/** A checked global. Its only operations are `read` and `update`. */
export type Global = Pick<Collection, 'slug' | 'category' | 'fields' | 'drafts' | 'access' | 'ruleWords' | 'hooks'> & {
  kind: 'global';
  schema: GlobalSchema;
};

/** A checked configuration, with all defaults. */
export type Model = {
  schema: Schema;
  rules: Rules;
  collections: ReadonlyMap<string, Collection>;
  globals: ReadonlyMap<string, Global>;
  publicSchema: boolean;
  /** The origins whose pages may call the service: a list of origins, `['*']` for any, or []. */
  cors: readonly string[];
  /**
   * Null: API keys see everything. Users of the admin collection see headers, and payloads as far as the `read` rules
   * allow.
   */
  audit: AuditRule | null;
  /** Null: users of `__admins` and API keys of the environment manage API keys. */
  keys: KeyRule | null;
  /**
   * Null: API keys may erase, and users of the admin collection may erase documents that they may delete and whose
   * payloads they may see.
   */
  erase: EraseRule | null;
  /** Null: users of the admin collection and API keys of the environment do everything with releases. */
  releases: ReleaseRule | null;
  webhooks: readonly Webhook[];
  /** The maximum sizes, in bytes, of a JSON body and of a JSON body with many documents. */
  limits: { body: number; bulkBody: number };
  trustProxy: boolean;
  /**
   * The auth collection whose users may do everything unless a rule says otherwise; null without an auth collection.
   */
  adminCollection: string | null;
  email: EmailOptions | null;
  /** Null: turned off. */
  rateLimit: RateLimit | null;
  bcryptCost: number;
  openapi: OpenApiInfo;
  /** Null: turned off. */
  admin: AdminOptions | null;
  /** The features for rich text fields that have no list of their own; absent for all features. */
  richText?: RichTextOptions;
  /** URIs for reports of vulnerabilities, most preferred first. If empty, `/.well-known/security.txt` is not served. */
  securityContact: readonly string[];
  /** Settings that work but are probably mistakes. The service prints the warnings once at start. */
  warnings: string[];
};

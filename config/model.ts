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

/** A user as access functions and hooks see it: the raw auth document without its password. */
export type User = JsonObject & { id: string; collection: string };

/** The part of the request that access functions and hooks may look at: no socket, no credentials. */
export type RequestView = { method: string; path: string; headers: Readonly<Record<string, string>>; ip: string };

/** The argument of an access function. `doc` is null where there is no document yet. */
export type AccessArgs = { user: User | null; doc: JsonObject | null; data: JsonObject | null; req: RequestView };

/** A rule's answer: yes, no, or yes for the documents that match this `where`. */
export type AccessResult = boolean | JsonObject;
/** Says whether a call may do something to a document, or to which ones. One that throws says no. */
export type AccessRule = (args: AccessArgs) => AccessResult | Promise<AccessResult>;
/** The author's words on rules, by what those decide about. */
export type RuleWords = { [decides: string]: string };
/** The kind of a call to a document. */
export type Operation = 'read' | 'create' | 'update' | 'delete';
/** The rules of a collection or global, by what they decide about. */
export type Access = { [operation in Operation]?: AccessRule };

/**
 * The part of the history that an auditor may see. `headers`: actor, time and document of each change, and the proofs
 * of it. `payloads`: the content of changes, their reasons, and documents as they were; it includes `headers`.
 * `export`: taking much of it out at once.
 */
export type AuditScope = 'headers' | 'payloads' | 'export';

/** The part of the history that an API key may see, and whether it may erase. */
export type KeyAudit = AuditScope | 'erase';

/** Operations that an API key may do, and to what: slugs, or `*` for all, also of later configurations. */
export type KeyScope = {
  collections: readonly string[] | '*';
  globals: readonly string[] | '*';
  operations: readonly Operation[];
};

/** The argument of an audit rule: a user, or the opaque id of an API key; both null without a credential. */
export type AuditArgs = { user: User | null; apiKey: string | null; req: RequestView };

/** An audit rule's answer: all scopes or none, or those that are listed, or those that are true. */
export type AuditAnswer = boolean | readonly AuditScope[] | { readonly [scope in AuditScope]?: boolean };

/** The rule of access to the history. Payloads that it grants are shown whatever the rules for reading say. */
export type AuditRule = (args: AuditArgs) => AuditAnswer | Promise<AuditAnswer>;

/** Says whether a caller may make, list and revoke API keys: a user, or an API key of the environment. */
export type KeyRule = (args: AuditArgs) => boolean | Promise<boolean>;

/**
 * The argument of the rule of who erases: as of an audit rule, and the document. `doc` is as it is stored, or as it
 * last was; null where that is not known: of one that never was, was erased, or is of a collection that is configured
 * no longer.
 */
export type EraseArgs = AuditArgs & { collection: string; id: string; doc: JsonObject | null };

/** Says whether a caller may erase a document: a user, or an API key of the environment. */
export type EraseRule = (args: EraseArgs) => boolean | Promise<boolean>;

/** Says whether a call may read or write one field. One that throws says no. */
export type FieldRule = (args: AccessArgs) => boolean | Promise<boolean>;
/** The rules of a field; without one, it is for every caller who may read or write the document. */
export type FieldAccess = { read?: FieldRule; create?: FieldRule; update?: FieldRule };

/** The argument of a hook. */
export type HookArgs = {
  user: User | null;
  req: RequestView;
  operation: Operation;
  /** before a change: the fields being written; after it, or on a read: the whole document. */
  data: JsonObject;
  /** The document before the change; null on create. */
  doc: JsonObject | null;
};
/** Returns what to go on with; nothing leaves it as it was. An error before a change is recorded refuses the call. */
export type Hook = (args: HookArgs) => JsonObject | undefined | Promise<JsonObject | undefined>;
/** The hooks of a collection or global, each run on what the one before returned. */
export type Hooks = { [when in `${'before' | 'after'}${'Change' | 'Read' | 'Delete'}`]?: Hook[] };

/** The argument of a hook of a field: `value` is that of the field. */
export type FieldHookArgs = HookArgs & { value: Json };
/** Returns the value to go on with, null for none; nothing leaves it as it was. */
export type FieldHook = (args: FieldHookArgs) => Json | undefined | Promise<Json | undefined>;
/** The hooks of a field, inner fields first. */
export type FieldHooks = { beforeChange?: FieldHook[]; afterRead?: FieldHook[] };

/** A field with its functions. `row` is gone: the fields inside it stand where their values are. */
export type Field = Omit<FieldSchema, 'name' | 'fields' | 'blocks'> & {
  name: string;
  /** Gives the default of a new value; absent without one. */
  makeDefault?: () => Json;
  /** The e-mail that an account is found by: kept and compared in the form of `normalEmail`. */
  isAccountEmail?: true;
  /** The id that the service gives a document: later ones are greater. */
  isDocumentId?: true;
  /** A value that the service gives about an uploaded file: in a body it is ignored. */
  isServerMade?: true;
  access?: FieldAccess;
  ruleWords?: RuleWords;
  hooks?: FieldHooks;
  fields?: Field[];
  blocks?: { slug: string; fields: Field[] }[];
};

/**
 * The options of an upload collection. `maxFileSize` is bytes; `mimeTypes` are like `image/png` or `image/*`, null for
 * any.
 */
export type UploadOptions = { maxFileSize: number; mimeTypes: readonly string[] | null };

/** The options of an auth collection (contract, section 5), defaults filled in. Times are seconds. */
export type AuthOptions = {
  tokenExpiration: number;
  maxLoginAttempts: number;
  lockTime: number;
  useAPIKey: boolean;
  depth: number;
  /** Null: no cookie is set or read. `secure` null: in production only. */
  cookies: { secure: boolean | null; sameSite: 'Strict' | 'Lax' | 'None'; domain: string | null } | null;
};

/** Pages of the author's own that mails link to; each gets `token` as a parameter of its query. */
export type AccountUrls = { acceptInvite?: string; resetPassword?: string; login?: string };

/** The messages that accounts cause (contract, section 6). */
export type MailKind = 'invitation' | 'welcome' | 'passwordReset' | 'passwordChanged';

/** The argument of a template. `user` is null in an invitation; `url` and `expiresAt` where the mail has a link. */
export type MailArgs = {
  collection: string;
  email: string;
  user: User | null;
  url: string | null;
  expiresAt: Date | null;
};

/** The author's texts in the place of ours, part by part. */
export type MailTemplate = { [part in 'subject' | 'text' | 'html']?: (args: MailArgs) => string | Promise<string> };

/** How mail goes out. `transport` is an SMTP URL, or options of nodemailer. The environment may give what is absent. */
export type EmailOptions = {
  from?: string;
  transport?: string | object;
  templates: { [kind in MailKind]?: MailTemplate };
};

/** An event that a webhook is told of. An erasure counts as `deleted`. */
export type WebhookEvent = 'created' | 'updated' | 'deleted' | 'restored';

/** A receiver of events, with every default in it. `url` and `secret` are not for answers and messages. */
export type Webhook = {
  name: string;
  url: string;
  /** `whsec_` and the key in base64. */
  secret: string;
  collections: readonly string[] | '*';
  globals: readonly string[] | '*';
  events: readonly WebhookEvent[];
  /** A filter that the document must meet before or after the event; null: any. */
  where: object | null;
  allowPrivate: boolean;
};

/** Calls of the public account routes in a minute. */
export type RateLimit = { address: number; email: number };

/** The texts of the OpenAPI document about itself, as far as its author gives them; `description` may be Markdown. */
export type OpenApiInfo = { title?: string; version?: string; description?: string };

/**
 * The admin application: its title, the address of its logo, null for ours, and the auth collection of its users, null
 * for the one that `adminCollectionOf` finds.
 */
export type AdminOptions = { title: string; logo: string | null; user: string | null };

/** A collection as the service uses it: checked, with every default in it. */
export type Collection = {
  kind: 'collection';
  slug: string;
  category: Category;
  fields: Field[];
  /** Null: documents of this collection are not accounts. */
  auth: AuthOptions | null;
  /** Null: documents of this collection are not files. */
  upload: UploadOptions | null;
  urls: AccountUrls;
  /** True: every reader of a document may read it as it was. */
  hasPublicHistory: boolean;
  requiresReason: boolean;
  /** True: its own read hooks hide nothing that is stored. */
  isQueryable: boolean;
  access: Access;
  ruleWords: RuleWords;
  hooks: Hooks;
  schema: CollectionSchema;
};

/** Globals know `read` and `update` only. */
export type Global = Pick<Collection, 'slug' | 'category' | 'fields' | 'access' | 'ruleWords' | 'hooks'> & {
  kind: 'global';
  schema: GlobalSchema;
};

/** A checked configuration: everything the service knows about what its author declared. */
export type Model = {
  schema: Schema;
  rules: Rules;
  collections: ReadonlyMap<string, Collection>;
  globals: ReadonlyMap<string, Global>;
  publicSchema: boolean;
  /** The origins whose pages may call the service: exact ones, `*` alone for any, or none. */
  cors: readonly string[];
  /**
   * Null: API keys may see everything, users of the admin collection headers, and payloads as far as rules for reading
   * show them.
   */
  audit: AuditRule | null;
  /** Null: users of `__admins` and API keys of the environment manage API keys. */
  keys: KeyRule | null;
  /** Null: API keys erase, and users of the admin collection what they may delete and see the payloads of. */
  erase: EraseRule | null;
  webhooks: readonly Webhook[];
  /** Bytes of a JSON body, by default 1 MiB, and of one with many documents, by default 8 MiB. */
  limits: { body: number; bulkBody: number };
  trustProxy: boolean;
  /** The auth collection whose users may do everything where no rule says otherwise: `__admins`, else the first one. */
  adminCollection: string | null;
  email: EmailOptions | null;
  /** Null: turned off. */
  rateLimit: RateLimit | null;
  bcryptCost: number;
  openapi: OpenApiInfo;
  /** Null: turned off. */
  admin: AdminOptions | null;
  /** Of every rich text that has none of its own; absent for all that the editor can. */
  richText?: RichTextOptions;
  /**
   * Where to report a vulnerability, as URIs, most preferred first; empty: `/.well-known/security.txt` is not served.
   */
  securityContact: readonly string[];
  /** Things that work but are probably not meant; printed once at start. */
  warnings: string[];
};

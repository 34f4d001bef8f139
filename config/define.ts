import type { CollectionAdminConfig, GlobalAdminConfig, RichTextConfig, WholeAdminConfig } from './define-admin.ts';
import type { FieldConfig, OneOrMore, RuleConfig } from './define-fields.ts';
import type {
  AccessRule,
  AuditRule,
  EraseRule,
  Hook,
  Hooks,
  KeyRule,
  MailKind,
  MailTemplate,
  Operation,
  PublishHook,
  PublishRule,
  ReleaseRule,
  WebhookEvent,
} from './model.ts';

export type * from './define-fields.ts';

/** The options of the session cookie of an auth collection, `annals-<slug>`. */
export type CookieConfig = {
  /** Restricts the cookie to HTTPS; default: true in production, else false. */
  secure?: boolean;
  /**
   * Whether a browser sends the cookie with requests that another site started; default `Lax`. `None` needs `secure`.
   */
  sameSite?: 'Lax' | 'Strict' | 'None' | 'lax' | 'strict' | 'none';
  /**
   * The domain whose subdomains share the cookie, for example `example.org`; default: only the host that set the
   * cookie.
   */
  domain?: string;
};

/** The options of an auth collection. `auth: true` uses the defaults. */
export type AuthConfig = {
  /** The lifetime of a token, in seconds; default 7200. */
  tokenExpiration?: number;
  /** The number of failed logins in a row after which the account is locked; default 5. */
  maxLoginAttempts?: number;
  /** The duration of a lock, in seconds; default 600. */
  lockTime?: number;
  /** Opens the routes of this collection to callers that send only an API key; default false. */
  useAPIKey?: boolean;
  /**
   * The depth to which relationships are populated in `/me` and in the `user` of access rules and hooks, 0 to 10;
   * default 0.
   */
  depth?: number;
  /** The options of the session cookie. With `false`, the service neither sets nor reads a cookie. */
  cookies?: false | CookieConfig;
};

/** The options of an upload collection. `upload: true` uses the defaults. */
export type UploadConfig = {
  /** The maximum size of a file, in bytes; default 7,000,000. */
  maxFileSize?: number;
  /**
   * The accepted media types, for example `['image/*', 'application/pdf']`; default: any. The service detects the type
   * of a file from its bytes.
   */
  mimeTypes?: readonly string[];
};

/** The options of drafts. `drafts: true` uses the defaults. */
export type DraftsConfig = {
  /**
   * Validates a draft like a public document. Default false: a draft may lack required values, and values may break
   * `minLength`, `min`, `max`, `integer`, `pattern` and the form of an e-mail or URL. To publish, everything must hold.
   */
  validate?: boolean;
  /** The name of a `datetime` field that gets the time of the first publication if it is empty. */
  publishedAt?: string;
};

/**
 * The access rules of a collection or global with `drafts`, beside those of its operations. Without `drafts` they are
 * an error.
 */
type DraftAccessConfig = {
  /** Decides who may read drafts; default: the rule `update`. */
  readDrafts?: RuleConfig<AccessRule>;
  /** Decides who may change the public state; default: the rule `update`. */
  publish?: RuleConfig<PublishRule>;
};

/** The hooks of a collection or global with `drafts`, beside the others. Without `drafts` they are an error. */
type PublishHooksConfig = {
  /** Runs before a draft is published. It may return changes of the draft, or refuse by throwing. */
  beforePublish?: OneOrMore<PublishHook>;
  /** Runs after a draft was published. */
  afterPublish?: OneOrMore<PublishHook>;
};

/**
 * URLs of your own pages, to which the mails of an auth collection link. A link with a token has it in the query
 * parameter `token`.
 */
export type UrlsConfig = {
  /** The page on which an invited user chooses a password. */
  acceptInvite?: string;
  /** The page on which a user sets a new password. */
  resetPassword?: string;
  /** The page on which a user logs in. */
  login?: string;
};

/** A collection, as you write it. An operation without an access rule is open to every authenticated caller. */
export type CollectionConfig = {
  /** The name of the collection in URLs: up to 64 letters, digits, `_` and `-`, not beginning with a digit or `-`. */
  slug: string;
  /** The previous slug of the collection. Its documents stay, with their ids and their history. */
  renamedFrom?: string;
  /** The names of the collection for people. */
  labels?: { singular: string; plural: string };
  /** Makes the documents accounts, with the fields `email` and `password`, and adds routes to log in; default false. */
  auth?: boolean | AuthConfig;
  /** Makes the documents files, which are sent as `multipart/form-data`; default false. */
  upload?: boolean | UploadConfig;
  /**
   * Lets editors save drafts of documents, which readers do not see until they are published; default false. Not with
   * `auth` or `upload`.
   */
  drafts?: boolean | DraftsConfig;
  /**
   * With `public`, every caller who may read a document may also read its past states, with `asOf`. Default: the audit
   * rule decides.
   */
  history?: 'public';
  /** Refuses a write without the header `X-Change-Reason`; default false. */
  requireReason?: boolean;
  /**
   * Lets callers filter, sort and search by stored values, although a read hook of the collection may show them other
   * values; default false.
   */
  queryable?: boolean;
  /** Only for an auth collection. */
  urls?: UrlsConfig;
  /** Hints to the admin application. */
  admin?: CollectionAdminConfig;
  /** The fields of a document. */
  fields: readonly FieldConfig[];
  /** The rules that decide who may do what. */
  access?: { [operation in Operation]?: RuleConfig<AccessRule> } & DraftAccessConfig;
  /** Functions that run before and after changes, reads, deletions and publications. */
  hooks?: { [when in Exclude<keyof Hooks, `${string}Publish`>]?: OneOrMore<Hook> } & PublishHooksConfig;
};

/** A global, as you write it: a single document, which callers read and update. */
export type GlobalConfig = {
  /** The name of the global in URLs, as for a collection. */
  slug: string;
  /** The name of the global for people. */
  label?: string;
  /** The fields of the global. */
  fields: readonly FieldConfig[];
  /** Lets editors save drafts of the global, which readers do not see until they are published; default false. */
  drafts?: boolean | DraftsConfig;
  /** The rules that decide who may read and update the global. */
  access?: { read?: RuleConfig<AccessRule>; update?: RuleConfig<AccessRule> } & DraftAccessConfig;
  /** Functions that run before and after changes, reads and publications. */
  hooks?: { [when in Exclude<keyof Hooks, `${string}${'Delete' | 'Publish'}`>]?: OneOrMore<Hook> } & PublishHooksConfig;
  /** Hints to the admin application. */
  admin?: GlobalAdminConfig;
};

/**
 * How the service sends mail. The settings `ANNALS_MAIL_FROM` and `ANNALS_SMTP_URL` override `from` and `transport`.
 */
export type EmailConfig = {
  /** The sender: an address, or `Name <address>`. */
  from?: string;
  /** The mail server: `smtp://user:password@host:587`, `smtps://…`, or the options of a nodemailer transport. */
  transport?: string | object;
  /** Functions that replace the default texts. Parts without a function keep theirs. */
  templates?: { readonly [kind in MailKind]?: MailTemplate };
};

/** The maximum number of calls of the public account routes per minute. */
export type RateLimitConfig = {
  /** Calls from one IP address; default 300. */
  address?: number;
  /** Calls for one e-mail; default 60. */
  email?: number;
};

/** The title, version and description in the OpenAPI document, by which readers tell several services apart. */
export type OpenApiConfig = {
  /** The title; default `Annals`. */
  title?: string;
  /** The version; default: the version of the service. */
  version?: string;
  /** A text, which may be Markdown; it replaces the default description. */
  description?: string;
};

/** A webhook: a URL to which the service posts changes of documents and globals. */
export type WebhookConfig = {
  /**
   * A unique name: 1 to 64 letters, digits, `_` and `-`, beginning with a letter or digit. It identifies the receiver,
   * so keep it as long as the receiver is the same.
   */
  name: string;
  /** The URL of the receiver; `https:` in production. */
  url: string;
  /** The secret that signs each delivery (Standard Webhooks): `whsec_` and 24 to 64 random bytes in base64. */
  secret: string;
  /**
   * The slugs of collections, or `*` for all. Without `collections` and `globals`, the webhook receives everything;
   * with only one of the two, nothing of the other.
   */
  collections?: '*' | readonly string[];
  /** The slugs of globals, or `*` for all. */
  globals?: '*' | readonly string[];
  /** The events to deliver; default: all that are about what is public. Events of drafts must be named. */
  events?: readonly WebhookEvent[];
  /** A `where` object, as in queries. The document must match it before or after the change. */
  where?: object;
  /** Allows delivery to loopback, private and other special addresses; default false. */
  allowPrivate?: boolean;
};

/** The whole configuration, the default export of `annals.config.ts`. It needs at least one collection or global. */
export type Config = {
  /** The collections: lists of documents with the same fields. */
  collections?: readonly CollectionConfig[];
  /** The globals: single documents. */
  globals?: readonly GlobalConfig[];
  /**
   * The rule of access to the history. A right that it grants holds whatever the `read` rules say. Default: API keys
   * see the whole history. Users of the admin collection see headers, and payloads as far as the `read` rules allow.
   */
  audit?: RuleConfig<AuditRule>;
  /**
   * The rule that decides who makes, lists and revokes API keys; default: users of `__admins`, and the API keys of the
   * environment.
   */
  keys?: RuleConfig<KeyRule>;
  /**
   * The rule that decides who erases; default: API keys, and users of the admin collection who may delete the document
   * and see its payloads.
   */
  erase?: RuleConfig<EraseRule>;
  /**
   * The rule that decides who may read, make, change, publish and delete releases; default: users of the admin
   * collection, and the API keys of the environment. It needs `drafts` at a collection or global.
   */
  releases?: RuleConfig<ReleaseRule>;
  /** Opens `/api/schemas` and `/api/openapi.json` to callers without a credential; default false. */
  publicSchema?: boolean;
  /**
   * The origins whose pages may call the service from a browser, such as `https://app.example.org`, or `['*']` for any;
   * default: only its own origin. Such pages cannot use cookies: they send the token of a login.
   */
  cors?: false | readonly string[];
  /** Trusts the `X-Forwarded-*` headers of the proxy in front of the service; default false. */
  trustProxy?: boolean;
  /**
   * Without this option and the settings above, no mail is sent; outside production, mail is caught and shown instead.
   */
  email?: false | EmailConfig;
  /** The limits of the public account routes. `false` turns them off. */
  rateLimit?: false | RateLimitConfig;
  /** The work factor of password hashes, 4 to 20; each step doubles the work. Default 12. */
  bcryptCost?: number;
  /** The maximum sizes of bodies. */
  limits?: {
    /** The maximum size of a JSON body, in bytes; default 1 MiB. */
    body?: number;
    /** The maximum size of a JSON body with many documents, in bytes; default 8 MiB. */
    bulkBody?: number;
  };
  /** The title, version and description in the OpenAPI document. */
  openapi?: OpenApiConfig;
  /** The receivers of changes. */
  webhooks?: readonly WebhookConfig[];
  /** The options of the admin application. `false` turns it off. */
  admin?: false | WholeAdminConfig;
  /** The features of the editor of `richText` fields that have no list of their own. */
  richText?: RichTextConfig;
  /**
   * Where to report a vulnerability: a `mailto:`, `https:` or `tel:` URI, or several, most preferred first. The service
   * publishes them at `/.well-known/security.txt` (RFC 9116); without a contact, that path is a 404.
   */
  securityContact?: string | readonly string[];
};

// If an argument does not fit and contains functions whose parameters have no type annotations, TypeScript infers
// nothing from it: one wrong hook would leave all clients without types. So the configuration is inferred twice: whole,
// as `C`, and piece by piece, as `Pieces`, which replaces `C` if nothing could be inferred for `C`. Both are inferred
// inside conditional types that resolve to `Config` once they are known. So the argument is checked against `Config`
// only, and each error appears at the place of the mistake.

/** Infers `T` from `From`; once `T` is known, only `Then` is required of the argument. */
type Inferring<T, From, Then> = [keyof T] extends [never] ? From : Then;

/** Inferring `T` from this type skips the functions whose types are not known yet, and nothing else. */
type PieceByPiece<T> = { readonly [Key in keyof T]: T[Key] | PieceByPiece<T[Key]> };

/**
 * TypeScript before 7 treats the type inferred from a literal as the literal itself, which may have no unexpected
 * members.
 */
type CopyOf<T> = T extends (...args: never) => unknown ? T : { [Key in keyof T]: CopyOf<T[Key]> };

/**
 * Returns the configuration unchanged. It checks the types in your editor, and keeps the literal types, from which the
 * client derives the types of documents.
 */
export function defineConfig<Pieces, const C = CopyOf<Pieces>>(
  config: Inferring<C, C, Config> & Inferring<Pieces, PieceByPiece<Pieces>, unknown>,
): C {
  return config as C;
}

/**
 * Fills an empty service through its own HTTP API. A configuration module may export such a function as `seed`. It runs
 * once in the life of a data directory. If a run was interrupted, the next one starts from the beginning, so the
 * function must skip documents that exist already.
 */
export type Seed = (api: {
  /** The address of the service. */
  baseUrl: string;
  /** An API key with all rights. */
  apiKey: string;
  /** The `x-site-id` to send with requests if the process serves several sites, else null. */
  siteId: string | null;
  /** Reports the progress, to be shown at the start. */
  progress: (done: number, total: number) => void;
}) => Promise<void>;

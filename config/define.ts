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
  WebhookEvent,
} from './model.ts';

export type * from './define-fields.ts';

/** The session cookie of an auth collection, `annals-<slug>`. */
export type CookieConfig = {
  /** Sent over HTTPS only; default: in production. */
  secure?: boolean;
  /** When a browser sends it with what another site began; default `Lax`. `None` needs `secure`. */
  sameSite?: 'Lax' | 'Strict' | 'None' | 'lax' | 'strict' | 'none';
  /** The domain whose subdomains share it, for example `example.org`; default: only the host that set it. */
  domain?: string;
};

/** The options of an auth collection; `auth: true` is all of their defaults. */
export type AuthConfig = {
  /** Seconds that a token lives; default 7200. */
  tokenExpiration?: number;
  /** Failed logins in a row before the account is locked; default 5. */
  maxLoginAttempts?: number;
  /** Seconds that a lock lasts; default 600. */
  lockTime?: number;
  /** Lets an API key alone call the routes of this collection; default false. */
  useAPIKey?: boolean;
  /** How deep relationships are populated in `/me` and in the user of access rules and hooks, 0 to 10; default 0. */
  depth?: number;
  /** `false` sets and reads no cookie. */
  cookies?: false | CookieConfig;
};

/** The options of an upload collection; `upload: true` is all of their defaults. */
export type UploadConfig = {
  /** Bytes that a file may have; default 7,000,000. */
  maxFileSize?: number;
  /** The types that are taken, for example `['image/*', 'application/pdf']`; default: any. The bytes tell the type. */
  mimeTypes?: readonly string[];
};

/**
 * Pages of your own that the mails of an auth collection link to. Each gets the parameter `token` where there is one.
 */
export type UrlsConfig = { acceptInvite?: string; resetPassword?: string; login?: string };

/** A collection as its author writes it. A missing access rule means any authenticated caller. */
export type CollectionConfig = {
  slug: string;
  /** The slug that it had before: its documents stay, with their ids and their history. */
  renamedFrom?: string;
  labels?: { singular: string; plural: string };
  /** Its documents are accounts: they get the fields `email` and `password`, and routes to log in. Default false. */
  auth?: boolean | AuthConfig;
  /** Its documents are files: they are sent as `multipart/form-data`. Default false. */
  upload?: boolean | UploadConfig;
  /** `public`: who may read a document may also read it as it was, with `asOf`. Default: the audit rule decides. */
  history?: 'public';
  /** Refuses a write without an `X-Change-Reason`; default false. */
  requireReason?: boolean;
  /**
   * Lets callers filter, sort and search by its stored values, although a read hook of the collection may show others;
   * default false.
   */
  queryable?: boolean;
  /** Only on an auth collection. */
  urls?: UrlsConfig;
  admin?: CollectionAdminConfig;
  fields: readonly FieldConfig[];
  access?: { [operation in Operation]?: RuleConfig<AccessRule> };
  hooks?: { [when in keyof Hooks]?: OneOrMore<Hook> };
};

/** A global as its author writes it: one document, read and updated. */
export type GlobalConfig = {
  slug: string;
  label?: string;
  fields: readonly FieldConfig[];
  access?: { read?: RuleConfig<AccessRule>; update?: RuleConfig<AccessRule> };
  hooks?: { [when in Exclude<keyof Hooks, `${string}Delete`>]?: OneOrMore<Hook> };
  admin?: GlobalAdminConfig;
};

/** How mail goes out. Options that are left out may come from `ANNALS_MAIL_FROM` and `ANNALS_SMTP_URL`, which win. */
export type EmailConfig = {
  /** An address, or `Name <address>`. */
  from?: string;
  /** `smtp://user:password@host:587`, `smtps://…`, or options of nodemailer. */
  transport?: string | object;
  /** Functions in the place of our texts, mail by mail and part by part. */
  templates?: { readonly [kind in MailKind]?: MailTemplate };
};

/** Calls of the public account routes in a minute. */
export type RateLimitConfig = {
  /** From one address; default 300. */
  address?: number;
  /** For one e-mail; default 60. */
  email?: number;
};

/** The texts of the OpenAPI document about itself, so that a reader of several can tell them apart. */
export type OpenApiConfig = {
  /** Default `Annals`. */
  title?: string;
  /** Default: that of the service. */
  version?: string;
  /** May be Markdown. It takes the place of ours. */
  description?: string;
};

/** A receiver that is told of changes of documents and globals by HTTP. */
export type WebhookConfig = {
  /** 1 to 64 letters, digits, `_` and `-`: unique, and the same as long as it is the same receiver. */
  name: string;
  /** https in production. */
  url: string;
  /** `whsec_` and 24 to 64 random bytes in base64, by which it is signed (Standard Webhooks). */
  secret: string;
  /** Slugs, or `*` for all. Without `collections` and `globals`: everything; with one of them, that alone. */
  collections?: '*' | readonly string[];
  globals?: '*' | readonly string[];
  /** Default: all. */
  events?: readonly WebhookEvent[];
  /** A filter as lists have it, which the document must meet before or after the change. */
  where?: object;
  /** Delivers to loopback, private and other special addresses too; default false. */
  allowPrivate?: boolean;
};

/** The default export of `annals.config.ts`. At least one collection or global is needed. */
export type Config = {
  collections?: readonly CollectionConfig[];
  globals?: readonly GlobalConfig[];
  /**
   * The rule of access to the history of everything, whatever rules for reading say; default: API keys see all of it,
   * users of the admin collection headers, and payloads as far as rules for reading show them.
   */
  audit?: RuleConfig<AuditRule>;
  /**
   * The rule of who makes, lists and revokes API keys; default: users of `__admins`, and the API keys of the
   * environment.
   */
  keys?: RuleConfig<KeyRule>;
  /**
   * The rule of who erases; default: API keys, and users of the admin collection whom the rule `delete` admits to the
   * document and who may see its payloads.
   */
  erase?: RuleConfig<EraseRule>;
  /** Opens `/api/schemas` and `/api/openapi.json` to callers without a credential; default false. */
  publicSchema?: boolean;
  /**
   * The origins whose pages may call the service from a browser, such as `https://app.example.org`, or `['*']` for any;
   * default: none but its own. Not by cookies: they send the token of a login.
   */
  cors?: false | readonly string[];
  /** Believes `X-Forwarded-*` of the proxy in front; default false. */
  trustProxy?: boolean;
  /** Without it mail is caught and shown outside production, and not sent in production. */
  email?: false | EmailConfig;
  /** `false` counts no calls. */
  rateLimit?: false | RateLimitConfig;
  /** How much work a password's hash is, each step twice as much; 4 to 20, default 12. */
  bcryptCost?: number;
  limits?: {
    /** Bytes of a JSON body; default 1 MiB. */
    body?: number;
    /** Bytes of a JSON body with many documents; default 8 MiB. */
    bulkBody?: number;
  };
  openapi?: OpenApiConfig;
  webhooks?: readonly WebhookConfig[];
  /** `false` turns the admin UI off. */
  admin?: false | WholeAdminConfig;
  richText?: RichTextConfig;
  /**
   * Where to report a vulnerability: a `mailto:`, `https:` or `tel:` URI, or several, the most preferred first. They
   * are shown to everybody at `/.well-known/security.txt` (RFC 9116); without one, that is a 404.
   */
  securityContact?: string | readonly string[];
};

// Of an argument that does not fit, TypeScript infers nothing where it has functions whose parameters have no types of
// their own: one wrong hook would leave all clients without types. So the configuration is inferred twice: whole, as
// `C`, and once more piece by piece, as `Pieces`, which stand for `C` where nothing is known of it. Both are inferred
// within conditions that come to `Config` as soon as they are. So the argument is held against `Config` alone, and what
// is wrong with it is told where it stands.

/** Infers `T` from what `From` is of it, and asks for no more than `Then`. */
type Inferring<T, From, Then> = [keyof T] extends [never] ? From : Then;

/** To infer `T` from it passes over the functions of which nothing is known yet, and over no more than those. */
type PieceByPiece<T> = { readonly [Key in keyof T]: T[Key] | PieceByPiece<T[Key]> };

/**
 * TypeScript before 7 takes what was inferred of a literal for that literal, which may have no more members than asked
 * for.
 */
type Copied<T> = T extends (...args: never) => unknown ? T : { [Key in keyof T]: Copied<T[Key]> };

/** Gives the configuration back as it is; only its types are looked at, and its literals kept for the client. */
export function defineConfig<Pieces, const C = Copied<Pieces>>(
  config: Inferring<C, C, Config> & Inferring<Pieces, PieceByPiece<Pieces>, unknown>,
): C {
  return config as C;
}

/**
 * Fills an empty service through its own HTTP API. A configuration module may export one as `seed`: it runs once in the
 * life of a data directory, and again from its beginning when it was cut short, so it must leave alone what is there.
 */
export type Seed = (api: {
  baseUrl: string;
  apiKey: string;
  /** The `x-site-id` of requests, where one process serves several sites; else null. */
  siteId: string | null;
  progress: (done: number, total: number) => void;
}) => Promise<void>;

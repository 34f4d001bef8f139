/** The exports of `annals`: `defineConfig`, and the types of a configuration. No code of the service is loaded. */
export * from './define.ts';
export type {
  AccessArgs,
  AccessResult,
  AccessRule,
  AuditAnswer,
  AuditArgs,
  AuditRule,
  AuditScope,
  EraseArgs,
  EraseRule,
  FieldAccess,
  FieldHook,
  FieldHookArgs,
  FieldRule,
  Hook,
  HookArgs,
  KeyRule,
  MailArgs,
  MailKind,
  MailTemplate,
  Operation,
  RequestView,
  User,
  WebhookEvent,
} from './model.ts';
export type { Json, JsonObject } from './schema.ts';

import type { loginSchema } from './account-components.ts';
import type { auditSchemas } from './audit/components.ts';
import type { ValueOf } from './basics.ts';
import type { AnswerSchemas, listSchema } from './components.ts';

/**
 * The JSON of an answer, by the name of its schema. Code that builds an answer has this type, so that a member that is
 * described is sent, and one that is sent is described.
 */
export type AnswerOf<Name extends keyof AnswerSchemas> = ValueOf<AnswerSchemas[Name]>;

/** The JSON of an answer of an audit route. */
export type AuditAnswerOf<Name extends keyof typeof auditSchemas> = ValueOf<(typeof auditSchemas)[Name]>;

/** The answer to a log-in. */
export type LoginAnswer<User> = ValueOf<ReturnType<typeof loginSchema<User>>>;

/** The list of a collection. */
export type ListAnswer<Document> = ValueOf<ReturnType<typeof listSchema<Document>>>;

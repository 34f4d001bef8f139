import type * as Client from '../../client/index.ts';
import type { AnswerOf, AuditAnswerOf, ListAnswer, LoginAnswer } from '../../server/openapi/answers.ts';
import type { auditSchemas } from '../../server/openapi/audit/components.ts';
import type { AnswerSchemas } from '../../server/openapi/components.ts';
import type { DeliveryView, WebhookView } from '../../server/ports.ts';

// The client declares the answers for its readers, and takes nothing from the service. `npm run types` fails in the
// line of each answer whose type in the client is not the one that the service describes and sends.
type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
type Is<T extends true> = T;
type Extends<A, B> = A extends B ? true : false;

/** A type written out: without intersections, names and read-only lists. */
type Plain<T> = T extends readonly (infer Item)[]
  ? Plain<Item>[]
  : T extends object
    ? { [Name in keyof T]: Plain<T[Name]> }
    : T;
type Same<A, B> = Equal<Plain<A>, Plain<B>>;

export type Contract = {
  Account: Is<Same<AnswerOf<'Account'>, Client.AccountState>>;
  ApiKey: Is<Same<AnswerOf<'ApiKey'>, Client.ApiKey>>;
  ApiKeyWithSecret: Is<Same<AnswerOf<'ApiKeyWithSecret'>, Client.ApiKeyWithSecret>>;
  ApiKeys: Is<Same<AnswerOf<'ApiKeys'>, Client.Page<Client.ApiKey>>>;
  Boot: Is<Same<AnswerOf<'Boot'>, Client.Boot>>;
  BulkCreated: Is<Same<AnswerOf<'BulkCreated'>, Client.BulkCreated>>;
  BulkDeleted: Is<Same<AnswerOf<'BulkDeleted'>, Client.BulkChanged<'deleted'>>>;
  BulkDiscarded: Is<Same<AnswerOf<'BulkDiscarded'>, Client.BulkChanged<'discarded' | 'unchanged'>>>;
  BulkPublished: Is<Same<AnswerOf<'BulkPublished'>, Client.BulkChanged<'published' | 'unchanged'>>>;
  BulkUnpublished: Is<Same<AnswerOf<'BulkUnpublished'>, Client.BulkChanged<'unpublished'>>>;
  BulkUpdated: Is<Same<AnswerOf<'BulkUpdated'>, Client.BulkChanged<'updated' | 'unchanged'>>>;
  BulkUpserted: Is<Same<AnswerOf<'BulkUpserted'>, Client.BulkUpserted>>;
  Count: Is<Same<AnswerOf<'Count'>, { total: number }>>;
  Counts: Is<Same<AnswerOf<'Counts'>, { collections: Record<string, { total: number }> }>>;
  Delivery: Is<Same<AnswerOf<'Delivery'>, Client.Delivery>>;
  DeliveryList: Is<Same<AnswerOf<'DeliveryList'>, Client.Page<Client.Delivery>>>;
  DryRun: Is<Same<AnswerOf<'DryRun'>, Client.RestorePlan>>;
  Field: Is<Same<AnswerOf<'Field'>, Client.FieldSchema>>;
  Found: Is<Same<AnswerOf<'Found'>, Client.Found>>;
  Groups: Is<
    Same<AnswerOf<'Groups'>, Client.Groups<string, { sum?: string; min?: string; max?: string; avg?: string }>>
  >;
  Invitation: Is<Same<AnswerOf<'Invitation'>, Client.Invitation>>;
  Invitations: Is<Same<AnswerOf<'Invitations'>, Client.Page<Client.Invitation>>>;
  OwnDraft: Is<Same<AnswerOf<'OwnDraft'>, Client.OwnDraft>>;
  OwnDraftWithData: Is<Same<AnswerOf<'OwnDraftWithData'>, Client.OwnDraftWithData>>;
  OwnDrafts: Is<Same<AnswerOf<'OwnDrafts'>, Client.Page<Client.OwnDraft>>>;
  Preferences: Is<Same<AnswerOf<'Preferences'>, Record<string, unknown>>>;
  PreviewToken: Is<Same<AnswerOf<'PreviewToken'>, { token: string }>>;
  PublishDryRun: Is<Same<AnswerOf<'PublishDryRun'>, Client.PublicationPlan>>;
  References: Is<Same<AnswerOf<'References'>, Client.Page<Client.Reference>>>;
  Planned: Is<Same<AnswerOf<'Planned'>, { release: string }>>;
  Release: Is<Same<AnswerOf<'Release'>, Client.Release>>;
  ReleaseCheck: Is<Same<AnswerOf<'ReleaseCheck'>, Client.ReleaseCheck>>;
  ViewToken: Is<Same<AnswerOf<'ViewToken'>, Client.ViewToken>>;
  KeptPreviewToken: Is<Same<AnswerOf<'KeptPreviewToken'>, Client.KeptPreviewToken>>;
  PreviewTokens: Is<Same<AnswerOf<'PreviewTokens'>, Client.Page<Client.KeptPreviewToken>>>;
  Releases: Is<Same<AnswerOf<'Releases'>, Client.Page<Client.ListedRelease>>>;
  Restore: Is<Same<AnswerOf<'Restore'>, Client.RestoreSource>>;
  Reviews: Is<Same<AnswerOf<'Reviews'>, Client.Page<Client.Review>>>;
  Schemas: Is<Same<AnswerOf<'Schemas'>, Client.Schemas>>;
  Session: Is<Same<AnswerOf<'Session'>, Client.Session>>;
  Sessions: Is<Same<AnswerOf<'Sessions'>, Client.Page<Client.Session>>>;
  Success: Is<Same<AnswerOf<'Success'>, Client.Success>>;
  Token: Is<Same<AnswerOf<'Token'>, { token: string }>>;
  Trash: Is<Same<AnswerOf<'Trash'>, Client.Page<Client.Trashed>>>;
  Values: Is<Same<AnswerOf<'Values'>, { values: { value: Client.GroupValue; count: number }[]; total: number }>>;
  Batch: Is<Same<AnswerOf<'Batch'>, Client.Batch>>;
  Undone: Is<Same<AnswerOf<'Undone'>, Client.Undone>>;
  Webhook: Is<Same<AnswerOf<'Webhook'>, Client.Webhook>>;
  Webhooks: Is<Same<AnswerOf<'Webhooks'>, Client.Page<Client.Webhook>>>;
};

/** The views that the main thread gives to workers: ports stand below descriptions, and declare them again. */
export type Ports = [Is<Same<AnswerOf<'Webhook'>, WebhookView>>, Is<Same<AnswerOf<'Delivery'>, DeliveryView>>];

type Document = { title: string };
type List = ListAnswer<Document>;

export type OfCollections = [
  Is<Same<LoginAnswer<Document>, Client.Login<Document>>>,
  Is<Extends<Client.Page<Document> | Client.UncountedPage<Document> | Client.CursorPage<Document>, List>>,
  Is<Equal<keyof Client.CursorPage<Document>, keyof List>>,
];

/** The client leaves the type of an event and its header open, for events that a later version of the service adds. */
type Opened<T> = T extends readonly (infer Item)[]
  ? Opened<Item>[]
  : T extends { header: unknown; data: unknown; context: unknown }
    ? Client.LogEvent
    : T extends { type: unknown; position: unknown }
      ? { [Name in keyof T]: Name extends 'type' ? string : Opened<T[Name]> }
      : T extends object
        ? { [Name in keyof T]: Opened<T[Name]> }
        : T;
type SameOpened<A, B> = Equal<Plain<Opened<A>>, Plain<B>>;

export type OfAudit = {
  Actor: Is<Same<AuditAnswerOf<'Actor'>, Client.Actor>>;
  Event: Is<Extends<AuditAnswerOf<'Event'>, Client.LogEvent>>;
  EventPage: Is<SameOpened<AuditAnswerOf<'EventPage'>, Client.LogEvents>>;
  Version: Is<SameOpened<AuditAnswerOf<'Version'>, Client.Version>>;
  DocumentHistory: Is<SameOpened<Omit<AuditAnswerOf<'DocumentHistory'>, 'document'>, Client.Versions>>;
  GlobalHistory: Is<SameOpened<Omit<AuditAnswerOf<'GlobalHistory'>, 'global'>, Client.Versions>>;
  DocumentThen: Is<SameOpened<AuditAnswerOf<'DocumentThen'>, Client.VersionWithDocument>>;
  BlameField: Is<SameOpened<AuditAnswerOf<'BlameField'>, Client.BlamedField>>;
  DocumentBlame: Is<SameOpened<AuditAnswerOf<'DocumentBlame'>, Extract<Client.Blame, { document: unknown }>>>;
  GlobalBlame: Is<SameOpened<AuditAnswerOf<'GlobalBlame'>, Extract<Client.Blame, { global: unknown }>>>;
  DocumentDiff: Is<SameOpened<AuditAnswerOf<'DocumentDiff'>, Extract<Client.Difference, { document: unknown }>>>;
  GlobalDiff: Is<SameOpened<AuditAnswerOf<'GlobalDiff'>, Extract<Client.Difference, { global: unknown }>>>;
  Subject: Is<Same<AuditAnswerOf<'Subject'>, Client.StreamState>>;
};

type Errors =
  | 'ErrorCode'
  | 'FieldErrorCode'
  | 'FieldError'
  | 'Error'
  | 'BadRequest'
  | 'ValidationError'
  | 'Invalid'
  | 'Unrestorable'
  | 'Stale'
  | 'Absent';
type Bodies = 'Login' | 'ForgotPassword' | 'ResetPassword' | 'Invite' | 'NewOwnDraft' | 'Plan' | 'Undo' | 'Erase';
type Parts =
  | ('Block' | 'KeyScope' | 'Condition' | `${string}Condition`)
  | (
      | 'EventType'
      | 'Header'
      | 'Context'
      | 'RecordedEvent'
      | 'ErasedEvent'
      | 'WithheldEvent'
      | 'PatchOperation'
      | 'BlamedEvent'
    );
/** Answers that no call of the client gives. `Preview` is there with the slugs of a configuration. */
type Uncalled =
  | ('Init' | 'Preview' | 'FeedPage' | 'Admission')
  | ('AccountVersion' | 'AccountHistory' | 'InvitationHistory' | 'AccountThen')
  | ('Log' | 'InclusionProof' | 'Stamps' | 'ConsistencyProof' | 'Key' | 'Keys')
  | ('Erased' | 'ErasedSoFar' | 'ErasureDryRun' | 'Erasure' | 'Erasures');

/** The answers that stand in no list here: none. */
type Forgotten<Name> = Exclude<Name, Errors | Bodies | Parts | Uncalled>;
export type Complete = [
  Is<Equal<Forgotten<Exclude<keyof AnswerSchemas, keyof Contract>>, never>>,
  Is<Equal<Forgotten<Exclude<keyof typeof auditSchemas, keyof OfAudit>>, never>>,
];

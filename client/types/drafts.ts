import type { KeyedOptions, WriteOptions } from '../options.ts';
import type { PublicationPlan, RestorePlan, RestoreSource } from './answers.ts';
import type { AnyConfig, CreateInput, DocumentOf, GlobalInput, GlobalOf, UpdateInput } from './config.ts';
import type { DocumentMembers } from './documents.ts';
import type { DryRun } from './reads.ts';

/** A document or global as a draft, at any depth of its objects: a draft may lack required values. */
export type Draft<Document> = {
  [Name in keyof Document]: Name extends keyof DocumentMembers ? Document[Name] : DraftValue<Document[Name]> | null;
};
type DraftValue<Value> = Value extends readonly (infer Item)[]
  ? DraftValue<Item>[]
  : Value extends { readonly [name: string]: unknown }
    ? { [Name in keyof Value]: DraftValue<Value[Name]> | null }
    : Value;

/** Values to save in a draft, which may lack any of them. */
export type DraftInput<Data> = { [Name in keyof Data]?: DraftInputValue<Data[Name]> | null };
type DraftInputValue<Value> = Value extends readonly (infer Item)[]
  ? readonly DraftInputValue<Item>[]
  : Value extends { readonly [name: string]: unknown }
    ? { [Name in keyof Value]?: DraftInputValue<Value[Name]> | null }
    : Value;

/** Saves a draft, and changes nothing that is public. */
export type OfDraft = { draft: true };
type NotOfDraft = { draft?: false | undefined };

/** The state to publish: the draft with new values, or the draft of a version; default: the draft as it is. */
export type PublishSource<Data> = { data?: DraftInput<Data> | undefined } | { version: number };

/** The writes of documents: of what is public, or with `draft` of the draft, where there are drafts. */
export type DocumentWrites<in out C extends AnyConfig, in out Slug extends string> = {
  /** Replaces the values of the given fields, and returns the whole document. */
  update: {
    (
      id: string,
      data: DraftInput<UpdateInput<C, Slug>>,
      options: WriteOptions & OfDraft,
    ): Promise<Draft<DocumentOf<C, Slug>>>;
    (id: string, data: UpdateInput<C, Slug>, options?: WriteOptions & NotOfDraft): Promise<DocumentOf<C, Slug>>;
  };
  /** Deletes a document with its draft, and returns its last state. With `draft`, it need not be public. */
  delete: {
    (id: string, options: WriteOptions & OfDraft): Promise<Draft<DocumentOf<C, Slug>>>;
    (id: string, options?: WriteOptions & NotOfDraft): Promise<DocumentOf<C, Slug>>;
  };
  /**
   * Restores an earlier state of a document, which may be deleted. With `dryRun`, only returns what the restore would
   * change.
   */
  restore: {
    (id: string, source: RestoreSource, options: DryRun & { draft?: boolean | undefined }): Promise<RestorePlan>;
    (id: string, source: RestoreSource, options: WriteOptions & OfDraft): Promise<Draft<DocumentOf<C, Slug>>>;
    (id: string, source: RestoreSource, options?: WriteOptions & NotOfDraft): Promise<DocumentOf<C, Slug>>;
  };
  /** Makes the draft public, and returns the public document. With `dryRun`, only returns what that would change. */
  publish: {
    (id: string, source: PublishSource<UpdateInput<C, Slug>>, options: DryRun): Promise<PublicationPlan>;
    (id: string, source?: PublishSource<UpdateInput<C, Slug>>, options?: WriteOptions): Promise<DocumentOf<C, Slug>>;
  };
  /** Takes a document out of what is public, and returns its draft. */
  unpublish: (id: string, options?: WriteOptions) => Promise<Draft<DocumentOf<C, Slug>>>;
  /** Makes the draft what is public, and returns it. */
  discard: (id: string, options?: WriteOptions) => Promise<Draft<DocumentOf<C, Slug>>>;
  /** Requests a review of the draft, by mail of the users in `to`, and returns the draft. */
  requestReview: (id: string, request?: ReviewInput, options?: WriteOptions) => Promise<Draft<DocumentOf<C, Slug>>>;
  /** Withdraws the request for review, and returns the draft. */
  withdrawReview: (id: string, options?: WriteOptions) => Promise<Draft<DocumentOf<C, Slug>>>;
  /** Refuses what the request for review is about, and returns the draft. */
  refuseReview: (id: string, refusal: { note: string }, options?: WriteOptions) => Promise<Draft<DocumentOf<C, Slug>>>;
};

/** A request for review: the ids of the users who are asked, and a note for them. */
export type ReviewInput = { to?: readonly string[] | undefined; note?: string | undefined };

/** Creates a document, and returns it. */
export type CreateDocument<in out C extends AnyConfig, in out Slug extends string> = {
  (data: DraftInput<CreateInput<C, Slug>>, options: KeyedOptions & OfDraft): Promise<Draft<DocumentOf<C, Slug>>>;
  (data: CreateInput<C, Slug>, options?: KeyedOptions & NotOfDraft): Promise<DocumentOf<C, Slug>>;
};

/** The writes of a global. */
export type GlobalWrites<in out C extends AnyConfig, in out Slug extends string> = {
  /** Replaces the values of the given fields, and returns the whole global. */
  update: {
    (data: DraftInput<GlobalInput<C, Slug>>, options: WriteOptions & OfDraft): Promise<Draft<GlobalOf<C, Slug>>>;
    (data: GlobalInput<C, Slug>, options?: WriteOptions & NotOfDraft): Promise<GlobalOf<C, Slug>>;
  };
  /** Restores an earlier state of the global. With `dryRun`, only returns what the restore would change. */
  restore: {
    (source: RestoreSource, options: DryRun & { draft?: boolean | undefined }): Promise<RestorePlan>;
    (source: RestoreSource, options: WriteOptions & OfDraft): Promise<Draft<GlobalOf<C, Slug>>>;
    (source: RestoreSource, options?: WriteOptions & NotOfDraft): Promise<GlobalOf<C, Slug>>;
  };
  /** Makes the draft public, and returns the public global. With `dryRun`, only returns what that would change. */
  publish: {
    (source: PublishSource<GlobalInput<C, Slug>>, options: DryRun): Promise<PublicationPlan>;
    (source?: PublishSource<GlobalInput<C, Slug>>, options?: WriteOptions): Promise<GlobalOf<C, Slug>>;
  };
  /** Makes the draft what is public, and returns it. */
  discard: (options?: WriteOptions) => Promise<Draft<GlobalOf<C, Slug>>>;
  /** Requests a review of the draft, by mail of the users in `to`, and returns the draft. */
  requestReview: (request?: ReviewInput, options?: WriteOptions) => Promise<Draft<GlobalOf<C, Slug>>>;
  /** Withdraws the request for review, and returns the draft. */
  withdrawReview: (options?: WriteOptions) => Promise<Draft<GlobalOf<C, Slug>>>;
  /** Refuses what the request for review is about, and returns the draft. */
  refuseReview: (refusal: { note: string }, options?: WriteOptions) => Promise<Draft<GlobalOf<C, Slug>>>;
};

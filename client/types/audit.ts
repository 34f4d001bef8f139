import type { Actor, StreamState, Version } from './answers.ts';

/**
 * An event of the log: its header (docs/log-format.md), and for callers who may see payloads also its `data` and
 * `context`.
 */
export type LogEvent = {
  header: {
    position: number;
    stream: string;
    version: number;
    type: string;
    recordedAt: string;
    actor: Actor;
    [member: string]: unknown;
  };
  data?: Record<string, unknown> | null;
  context?: Record<string, unknown> | null;
  erased?: true;
  /** The caller may not see the payload. */
  withheld?: true;
  /** Fields that the caller may not read are left out. The other fields have their present names. */
  partial?: true;
};

/** Events of the log, in their order. `next` is the option `next` of the next page; null at the end. */
export type LogEvents = { docs: LogEvent[]; next: number | null; size: number };

/**
 * A version with the whole document as of that version, in the fields of that time. `document` is null if the document
 * did not exist. `published`, where there are drafts, is what was public; `document` is then the newest state for
 * callers who may see drafts.
 */
export type VersionWithDocument = {
  stream: string;
  version: number;
  position: number;
  document: Record<string, unknown> | null;
  published?: Record<string, unknown> | null;
  event: LogEvent;
  erased?: true;
};

/** A step of a JSON Patch (RFC 6902). */
export type PatchStep = { op: 'add' | 'replace'; path: string; value: unknown } | { op: 'remove'; path: string };

/** Two versions of a document or global. Null is version 0, before the first change. */
type Between = { from: Version | null; to: Version | null };

/**
 * The difference between two versions, in the present names of fields. `fields` and `patch` are null if one of the two
 * versions of a document is erased.
 */
export type Difference = Between &
  (
    | {
        document: StreamState;
        fields: { field: string; before: unknown; after: unknown }[] | null;
        patch: PatchStep[] | null;
        erased?: true;
      }
    | { global: StreamState; fields: { field: string; before: unknown; after: unknown }[]; patch: PatchStep[] }
  );

/** The version of an event behind a value. */
type BlamedVersion = Omit<Version, 'reason' | 'changed' | 'erased' | 'withheld'> & { reason: string | null };

/**
 * A field and the version that set its value. `version` is null if no event set the value. `published`, in a history
 * with drafts, is the version that made the value public; null if it is not public.
 */
export type BlamedField = { field: string; value: unknown; published?: BlamedVersion | null } & (
  | { version: null }
  | BlamedVersion
);

/** The version behind each field of a document or global. */
export type Blame = { version: number; fields: BlamedField[] } & ({ document: StreamState } | { global: StreamState });

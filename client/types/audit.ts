import type { Actor, StreamState, Version } from './answers.ts';

/** An event of the log: its header (docs/log-format.md), and for who may see payloads what it recorded. */
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
  /** The payload is not for this caller. */
  withheld?: true;
  /** Fields that the caller may not read are left out; the others have the names of today. */
  partial?: true;
};

/** Some events of the log, in the order of their positions; `next` is the `after` of the next ones, null at the end. */
export type LogEvents = { events: LogEvent[]; next: number | null; size: number };

/** A version with the whole document after it, in the names and fields of that time; null where it was not there. */
export type VersionWithDocument = {
  stream: string;
  version: number;
  position: number;
  document: Record<string, unknown> | null;
  event: LogEvent;
  erased?: true;
};

/** One step of a JSON Patch (RFC 6902). */
export type PatchStep = { op: 'add' | 'replace'; path: string; value: unknown } | { op: 'remove'; path: string };

/** Two versions of a document or global. Null stands for version 0, before anything was there. */
type Between = { from: Version | null; to: Version | null };

/**
 * The difference of two versions, in the names of today. `fields` and `patch` are null if one of the two versions of a
 * document is erased.
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

/** A field, and the version that set its value; `version` is null if no event ever did. */
export type BlamedField = { field: string; value: unknown } & (
  | { version: null }
  | (Omit<Version, 'reason' | 'changed' | 'erased'> & { reason: string | null })
);

/** The event behind each field of a document or global. */
export type Blame = { version: number; fields: BlamedField[] } & ({ document: StreamState } | { global: StreamState });

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

/** The difference of two versions, in the names of today; `fields` is null where one of the two is erased. */
export type Difference = {
  from: Version | null;
  to: Version;
  fields: { field: string; before: unknown; after: unknown }[] | null;
  patch: { op: string; path: string; value?: unknown }[] | null;
  erased?: true;
} & ({ document: StreamState } | { global: StreamState });

/** The version that set the value of a field; its members are null where no event ever set one. */
export type BlamedField = {
  field: string;
  value: unknown;
  version: number | null;
  position: number | null;
  type: string | null;
  recordedAt: string | null;
  actor: Actor | null;
  reason: string | null;
};

/** The event behind each field of a document or global. */
export type Blame = { version: number; fields: BlamedField[] } & ({ document: StreamState } | { global: StreamState });

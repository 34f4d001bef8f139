import type { RestorePlan, RestoreSource, StreamState, Version } from '../../../../client/index.ts';
import type { Field } from '../../schema/fields.ts';
import { client, reasonOfTrial } from '../../service/client.ts';

/** A document or global whose history is shown; `view` is the option of calls that are about its draft. */
export type Target = { slug: string; fields: Field[]; requireReason: boolean; view: { draft?: true } } & (
  | { kind: 'collection'; id: string }
  | { kind: 'global' }
);

/** The target as the history calls of the client take it. */
export function auditTargetOf(target: Target) {
  return target.kind === 'global' ? { global: target.slug } : { collection: target.slug, id: target.id };
}

/** Versions of a document or global, the newest first; `first` is the number of the oldest that was read. */
export type History = { state: StreamState; versions: Version[]; first: number };

type Paging = { signal: AbortSignal; limit: number; next?: number };

async function readPage(target: Target, paging: Paging) {
  const options = { ...paging, actors: 'names' } as const;
  if (target.kind === 'global') {
    const { global, docs: versions } = await client.global(target.slug).history(options);
    return { state: global, versions };
  }
  const { document, docs: versions } = await client.collection(target.slug).history(target.id, options);
  return { state: document, versions };
}

/** The versions to read: the newest `count`, up to version `upTo`; null: up to the last. */
type VersionRange = { count: number; upTo: number | null };

/** Reads the newest versions: at least the wanted number, or all. */
export async function readHistory(
  target: Target,
  { count, upTo }: VersionRange,
  signal: AbortSignal,
): Promise<History> {
  const { state: today } = await readPage(target, { signal, limit: 1 });
  const state = { ...today, version: Math.min(today.version, upTo ?? today.version) };
  const after = Math.max(0, state.version - count);
  const versions: Version[] = [];
  // A page may end early, because the total size of its events is bounded.
  for (let last = after; last < state.version; ) {
    const page = await readPage(target, { signal, limit: Math.min(count, state.version - last), next: last });
    if (page.versions.length === 0) break;
    versions.push(...page.versions);
    last = versions.at(-1)?.version ?? state.version;
  }
  return { state, versions: versions.reverse(), first: after + 1 };
}

/** Reads what a restore would change. */
export function planRestore(target: Target, source: RestoreSource, signal: AbortSignal): Promise<RestorePlan> {
  const options = { dryRun: true, signal, ...reasonOfTrial, ...target.view } as const;
  return target.kind === 'global'
    ? client.global(target.slug).restore(source, options)
    : client.collection(target.slug).restore(target.id, source, options);
}

/** Restores a version: into the draft, if the user works on drafts. */
export async function restore(target: Target, source: RestoreSource, options: { reason?: string }): Promise<void> {
  const ofDraft = { ...options, draft: true } as const;
  const isDraft = target.view.draft === true;
  if (target.kind === 'global') {
    const { restore: make } = client.global(target.slug);
    await (isDraft ? make(source, ofDraft) : make(source, options));
  } else {
    const { restore: make } = client.collection(target.slug);
    await (isDraft ? make(target.id, source, ofDraft) : make(target.id, source, options));
  }
}

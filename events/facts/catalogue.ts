import { type Category, globalsCategory } from '../../config/schema.ts';

/** The `schemaVersion` that is written today, by type. A reader may meet every version up to it. */
export const schemaVersionOf = {
  'document.created': 1,
  'document.updated': 1,
  'document.deleted': 1,
  'document.restored': 1,
  'document.erased': 1,
  'document.draft.created': 1,
  'document.draft.updated': 1,
  'document.draft.restored': 1,
  'document.draft.discarded': 1,
  'document.published': 1,
  'document.unpublished': 1,
  'global.updated': 1,
  'global.restored': 1,
  'global.draft.updated': 1,
  'global.draft.restored': 1,
  'global.draft.discarded': 1,
  'global.published': 1,
  'review.requested': 1,
  'review.withdrawn': 1,
  'review.refused': 1,
  'release.created': 1,
  'release.updated': 1,
  'release.item.set': 1,
  'release.item.removed': 1,
  'release.published': 1,
  'release.failed': 1,
  'release.archived': 1,
  'schema.changed': 1,
  'login.succeeded': 1,
  'login.failed': 1,
  'account.locked': 1,
  'account.unlocked': 1,
  'session.started': 1,
  'session.refreshed': 1,
  'session.revoked': 1,
  'password.changed': 1,
  'password.reset.requested': 1,
  'invite.created': 1,
  'invite.accepted': 1,
  'invite.withdrawn': 1,
  'setup.completed': 1,
  'email.sent': 1,
  'email.failed': 1,
  'log.exported': 1,
  'log.writes.accepted': 1,
  'log.key.replaced': 1,
  'log.key.disowned': 1,
  'clock.corrected': 1,
  'file.lost': 1,
  'file.found': 1,
  'apikey.created': 1,
  'apikey.rotated': 1,
  'apikey.revoked': 1,
} as const satisfies Record<string, number>;

/**
 * Whether this version of the service knows an event. Newer versions write types and forms of data that it does not
 * know.
 */
export function isKnown({ type, schemaVersion }: { type: string; schemaVersion: number }): boolean {
  const versions: Record<string, number> = schemaVersionOf;
  return Object.hasOwn(versions, type) && schemaVersion <= (versions[type] ?? 0);
}

/** Whether events of this type change drafts, or what is said about them, and never what is public. */
export function isDraftOnly(type: string): boolean {
  return /^(?:document|global)\.draft\.|^review\./.test(type);
}

/** Whether the `data` of events of this type is the fields of a new document. */
export function isCreation(type: string): boolean {
  return type === 'document.created' || type === 'document.draft.created';
}

/** Whether events of this type make a draft public. */
export function isPublication(type: string): boolean {
  return type === 'document.published' || type === 'global.published';
}

/** Every type of event. `docs/events.md` says what each one's `data` holds. */
export type EventType = keyof typeof schemaVersionOf;

/** The stream of one document. */
export function documentStream(category: Category, id: string): string {
  return `${category}/${id}`;
}

/** The stream of one global. */
export function globalStream(slug: string): string {
  return documentStream(globalsCategory, slug);
}

/**
 * The stream of what happens to one account. It is not the stream of the document, so a failed login makes no new
 * version.
 */
export function accountStream(category: Category, id: string): string {
  return `accounts/${category}/${id}`;
}

/** The stream of one invitation, from before there is an account. */
export function inviteStream(category: Category, id: string): string {
  return `accounts/${category}/invites/${id}`;
}

/** The stream of the first users that an auth collection was set up with. */
export function setupStream(category: Category): string {
  return `accounts/${category}/setup`;
}

/** The name under which the idempotency record of a bulk call is kept. No event is recorded in such a stream. */
export function batchStream(batch: string): string {
  return `batches/${batch}`;
}

/** The stream of the schema's own history. */
export const schemaStream = 'system/schema';

/** The stream of what was done with the log itself: exports, and writes of others that operators accepted. */
export const auditStream = 'system/audit';

/** The stream of changes of the keys that sign the log. */
export const keyStream = 'system/keys';

/** The stream of the API keys that are made and revoked at run time. */
export const apiKeyStream = 'system/api-keys';

/** The stream of the corrections of a clock that was wrong. */
export const clockStream = 'system/clock';

/** The stream of stored files that were lost, and that were found again. */
export const filesStream = 'system/files';

/** The name of the streams of all releases. */
export const releasesStream = 'system/releases';

/** The stream of one release. */
export function releaseStream(id: string): string {
  return `${releasesStream}/${id}`;
}

/** The id of the release that a stream is of; null for any other stream. */
export function releaseIdOf(stream: string): string | null {
  return stream.startsWith(`${releasesStream}/`) ? stream.slice(releasesStream.length + 1) : null;
}

/** The streams of the service itself, and the name of those of releases. A log need not have events of each. */
export const serviceStreams: readonly string[] = [
  schemaStream,
  auditStream,
  clockStream,
  keyStream,
  apiKeyStream,
  filesStream,
  releasesStream,
];

/** Takes a stream's name apart: `posts/0198…` → `['posts', '0198…']`. */
export function splitStream(stream: string): [category: Category, id: string] {
  const slash = stream.indexOf('/');
  return [stream.slice(0, slash) as Category, stream.slice(slash + 1)];
}

/**
 * Takes the name of a stream about accounts apart: the category of the collection, and the id of the user or the
 * invitation. Null for any other stream.
 */
export function splitAccountStream(stream: string): { category: Category; id: string; isInvite: boolean } | null {
  if (!stream.startsWith('accounts/')) return null;
  const [, category = '', id = '', invite] = stream.split('/');
  return { category: category as Category, id: invite ?? id, isInvite: invite !== undefined };
}

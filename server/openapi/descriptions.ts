import { counted } from '../../config/counted.ts';
import type { Collection, Field, Global, Model, Operation as Right } from '../../config/model.ts';

/*
 * Descriptions of the operations on documents, complete in themselves: effects, required rights, and the use of
 * headers. Texts are CommonMark.
 */

type Target = Collection | Global;

/** `GET /api/collections/<slug>` */
export function ofList(model: Model, target: Collection): string {
  return paragraphs(
    'Returns a page of the documents that the caller may read; `total` counts all that match. `where` filters and `sort` ' +
      'orders by fields that the caller may read. Dotted paths lead through objects, lists and relationships. Fields that a ' +
      'read hook changes can be used only if they are `queryable`. An unknown parameter, path or operator is a 400 that ' +
      'names it.',
    whoMay(model, target, 'read'),
  );
}

/** `GET /api/collections/<slug>/count` */
export function ofCount(model: Model, target: Collection): string {
  return paragraphs(
    'Returns the number of documents that the caller may read and that match `where`: the `total` of the list with this ' +
      'filter.',
    whoMay(model, target, 'read'),
  );
}

/** `GET /api/collections/<slug>/{id}` */
export function ofRead(model: Model, target: Collection): string {
  return paragraphs(
    'Returns a document with every field that the caller may read: `null` for a field without a value, `[]` for an empty ' +
      'list.',
    ifNoneMatch,
    whoMay(model, target, 'read'),
  );
}

/** `POST /api/collections/<slug>` */
export function ofCreate(model: Model, target: Collection): string {
  const { auth, upload } = target;
  return paragraphs(
    'Creates a document and returns it. A field that is missing in the body gets its default, else `null`, or `[]` for ' +
      'lists; an unknown field is a 400. The server sets `id`, `createdAt` and `updatedAt` and ignores them in a body.',
    upload
      ? `The part \`file\` is the file, of at most ${counted(upload.maxFileSize, 'byte')}; every other part is a field.`
      : bodyOf(model),
    auth ? 'The document is an account: without a `password`, no login is possible until a password is set.' : '',
    reasonOf(target),
    repeatable,
    whoMay(model, target, 'create'),
  );
}

/** `POST /api/collections/<slug>/bulk` */
export function ofCreateMany(model: Model, target: Collection, isUnique: boolean): string {
  return paragraphs(
    `Creates up to 1,000 documents: all of them or none, each under the rules of a single create. Errors name the place of the document: \`docs.3.title\`. The body has at most ${model.limits.bulkBody} bytes.`,
    isUnique
      ? '`upsertBy` names a unique field: a document that has the same value in this field is changed by the fields in the ' +
          'body, the others are created. This needs the right to read and to update these documents.'
      : '',
    target.auth ? 'A `password` is not taken here.' : '',
    'With `dryRun`, the ids of new documents are not those that the call would give.',
    inBatch,
    reasonOf(target),
    repeatable,
    whoMay(model, target, 'create'),
  );
}

/** `POST /api/collections/<slug>/bulk/update` */
export function ofUpdateMany(target: Collection): string {
  return paragraphs(
    'Changes the fields in `data` in up to 1,000 documents, all of them or none, each under the rules of a single PATCH.',
    target.auth ? 'A `password` is not taken here.' : '',
    chosen('update'),
    inBatch,
    reasonOf(target),
    repeatable,
  );
}

/** `POST /api/collections/<slug>/bulk/delete` */
export function ofDeleteMany(target: Collection): string {
  return paragraphs(
    'Deletes up to 1,000 documents, all of them or none, each under the rules of a single DELETE.',
    target.auth ? 'The sessions of the accounts end.' : '',
    chosen('delete'),
    inBatch,
    reasonOf(target),
    repeatable,
  );
}

/** `PATCH /api/collections/<slug>/{id}` */
export function ofUpdate(model: Model, target: Collection): string {
  const { auth, upload } = target;
  return paragraphs(
    merged,
    upload
      ? 'A form with the part `file` replaces the file; JSON, or a form without this part, leaves the file as it is.'
      : bodyOf(model),
    auth ? 'A `password` ends all sessions of the account, except the one that sets it.' : '',
    reasonOf(target),
    matched,
    repeatable,
    whoMay(model, target, 'update'),
  );
}

/** `DELETE /api/collections/<slug>/{id}` */
export function ofDelete(model: Model, target: Collection): string {
  const { auth, upload } = target;
  return paragraphs(
    'Deletes a document and returns its last state. Its unique values are free again, and relationships to it keep its id. ' +
      'Its past versions stay in the log, and a restore brings the document back.',
    auth ? 'The sessions of the account end.' : '',
    upload ? 'Its file is no longer served; the bytes are kept for a restore.' : '',
    reasonOf(target),
    matched,
    repeatable,
    whoMay(model, target, 'delete'),
  );
}

/** `POST /api/collections/<slug>/{id}/restore` */
export function ofRestore(target: Collection): string {
  return paragraphs(
    'Restores a document to one of its versions, or to its state at a position of the log, also if it was deleted. This ' +
      'makes a new version, and no later version is lost.',
    target.auth ? 'An account comes back without its password and its sessions.' : '',
    restored,
    reasonOf(target),
    matched,
    repeatable,
    'Needs the right to update the document, or to create it if it was deleted, and the right to see its past state.',
  );
}

/** `GET /api/globals/<slug>` */
export function ofReadGlobal(model: Model, target: Global): string {
  return paragraphs(
    'Returns the single document of this global. Until the global is first written, this is its defaults, and `createdAt` ' +
      'and `updatedAt` are `null`.',
    ifNoneMatch,
    whoMay(model, target, 'read'),
  );
}

/** `PATCH /api/globals/<slug>` */
export function ofUpdateGlobal(model: Model, target: Global): string {
  return paragraphs(merged, bodyOf(model), matched, repeatable, whoMay(model, target, 'update'));
}

/** `POST /api/globals/<slug>/restore` */
export function ofRestoreGlobal(): string {
  return paragraphs(
    'Restores the global to one of its versions, or to its state at a position of the log. This makes a new version, and ' +
      'no later version is lost.',
    restored,
    matched,
    repeatable,
    'Needs the right to update the global, and the right to see its past state.',
  );
}

/** The documents of a collection, described by the first of their fields. */
export function ofTag({ fields, auth, upload, schema }: Collection): string {
  const kind = auth ? 'Accounts' : upload ? 'Files' : 'Documents';
  const { plural } = schema.labels ?? {};
  const what = withFields(fields.filter(({ isServerMade }) => !isServerMade));
  return plural === undefined ? `${kind} ${what}.` : `${plural}: ${kind.toLowerCase()} ${what}.`;
}

/** Which globals there are. */
export function ofGlobalsTag(globals: readonly Global[]): string {
  const names = globals.map(({ slug, schema }) => schema.label ?? `\`${slug}\``);
  return `One document each: ${listOf(names)}.`;
}

const shownFields = 4;

function withFields(fields: readonly Field[]): string {
  if (fields.length === 0) return 'without fields of their own';
  const more = fields.length - shownFields;
  const names = fields.slice(0, more > 1 ? shownFields : fields.length).map(({ name }) => `\`${name}\``);
  return `with ${listOf(more > 1 ? [...names, `${more} more fields`] : names)}`;
}

function listOf(names: readonly string[]): string {
  return names.length < 2 ? names.join() : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}

/** The condition of a read. */
export const ifNoneMatch =
  'With `If-None-Match`, the answer is a 304 without a body as long as the `ETag` is the same.';
const merged =
  'Changes the fields in the body and leaves all other fields as they are. Each field is replaced as a whole: an object ' +
  'or a list replaces the former one, and its missing members are removed or get their defaults. `null` removes a value. ' +
  'If nothing changes, nothing is recorded.';
const matched =
  'With `If-Match`, the write is done only at the version that has this `ETag`, else it is a 412. Without `If-Match`, ' +
  'the last write of a field wins.';
const chosen = (right: string) =>
  'The documents are those with these `ids`, or those that meet `where` and that the caller may read. If the caller may not ' +
  `${right} one of them, nothing is done.`;
const inBatch = 'All events of the call have its `batch`. With this id the audit API lists them and undoes the call.';
const repeatable =
  'With an `Idempotency-Key`, the request can be sent again after a lost answer, and takes effect only once.';
const restored =
  "With `dryRun` nothing is done, and the answer shows what the restore would change. The past values must fit today's " +
  'fields, else 400.';

function bodyOf({ limits }: Model): string {
  return `The body has at most ${limits.body} bytes.`;
}

function reasonOf({ requiresReason }: Collection): string {
  return requiresReason ? '`X-Change-Reason` is required: the reason of the change.' : '';
}

/** The admitted callers, as far as the configuration has them as data: rules are functions. */
function whoMay(model: Model, target: Target, right: Right): string {
  const auth = target.kind === 'collection' ? target.auth : null;
  if (target.access[right]) {
    const isOpenToKeys = !auth || auth.useAPIKey;
    const each = right === 'create' || target.kind === 'global' ? '' : ', which may tell documents apart';
    const rule = `a rule of the configuration decides${each}.`;
    return isOpenToKeys ? `Open to API keys; about other callers ${rule}` : `About every caller ${rule}`;
  }
  if (!auth) return `Open to any API key${hasUsers(model) ? ' and to any user' : ''}.`;
  const keys = auth.useAPIKey ? 'and to any API key' : 'not to an API key alone';
  const others = right === 'read' || right === 'update' ? ', to any other user for their own account' : '';
  return `Open to users of \`${model.adminCollection}\`${others}, ${keys}.`;
}

function hasUsers({ collections }: Model): boolean {
  return [...collections.values()].some(({ auth }) => auth);
}

function paragraphs(...parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join('\n\n');
}

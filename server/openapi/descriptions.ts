import { counted } from '../../config/counted.ts';
import type { Collection, Field, Global, Model, Operation as Right } from '../../config/model.ts';

/*
 * Descriptions of the operations on documents: effects and required rights. A fact about a parameter, a body or an
 * answer is told in its own description, so that an OpenAPI document has it once. Texts are CommonMark.
 */

type Target = Collection | Global;

/** `GET /api/collections/<slug>` */
export function ofList(model: Model, target: Collection): string {
  return paragraphs(
    'Returns a page of the documents that the caller may read; `total` counts all that match.',
    whoMay(model, target, 'read'),
  );
}

/** `GET /api/collections/<slug>/count` */
export function ofCount(model: Model, target: Collection): string {
  return paragraphs(
    'Returns the number of documents that the caller may read and that match: the `total` of the list.',
    whoMay(model, target, 'read'),
  );
}

/** `GET /api/collections/<slug>/{id}` */
export function ofRead(model: Model, target: Collection): string {
  return paragraphs(
    'Returns a document with every field that the caller may read: `null` for a field without a value, `[]` for an empty ' +
      'list.',
    whoMay(model, target, 'read'),
  );
}

/** `POST /api/collections/<slug>` */
export function ofCreate(model: Model, target: Collection): string {
  const { auth, upload } = target;
  return paragraphs(
    'Creates a document and returns it. A missing field gets its default, else `null`, or `[]` for a list.',
    upload
      ? `The part \`file\` is the file, of at most ${counted(upload.maxFileSize, 'byte')}; every other part is a field.`
      : '',
    auth ? 'The document is an account: without a `password`, no login is possible until a password is set.' : '',
    draftUse(target, 'it is saved as a draft, which may lack what a public document needs, and nothing is public.'),
    whoMay(model, target, 'create'),
  );
}

/** `POST /api/collections/<slug>/bulk` */
export function ofCreateMany(model: Model, target: Collection, isUnique: boolean): string {
  return paragraphs(
    `Creates ${isUnique ? 'or changes ' : ''}up to 1,000 documents, all or none, each under the rules of a single create. Errors name the document: \`docs.3.title\`.`,
    target.auth ? 'A `password` is not taken here.' : '',
    draftUse(target, 'they are saved as drafts, and nothing that is public changes.'),
    whoMay(model, target, 'create'),
  );
}

/** `POST /api/collections/<slug>/bulk/update` */
export function ofUpdateMany(target: Collection): string {
  return paragraphs(
    `Changes the fields in \`data\` in up to 1,000 documents, all or none, each under the rules of a single PATCH: ${chosen}`,
    target.auth ? 'A `password` is not taken here.' : '',
    draftUse(target, 'the drafts change, and nothing that is public; `where` is about drafts.'),
  );
}

/** `POST /api/collections/<slug>/bulk/delete` */
export function ofDeleteMany(target: Collection): string {
  return paragraphs(
    `Deletes up to 1,000 documents, all or none, each under the rules of a single DELETE: ${chosen}`,
    target.auth ? 'The sessions of the accounts end.' : '',
    draftUse(target, 'also documents that are not public; `where` is about drafts.'),
  );
}

/** `PATCH /api/collections/<slug>/{id}` */
export function ofUpdate(model: Model, target: Collection): string {
  const { auth, upload } = target;
  return paragraphs(
    merged,
    upload
      ? 'A form with the part `file` replaces the file; JSON, or a form without this part, leaves the file as it is.'
      : '',
    auth ? 'A `password` ends all sessions of the account, except the one that sets it.' : '',
    draftUse(target, 'the fields of the draft change, and nothing that is public.'),
    whoMay(model, target, 'update'),
  );
}

/** `DELETE /api/collections/<slug>/{id}` */
export function ofDelete(model: Model, target: Collection): string {
  const { auth, upload } = target;
  return paragraphs(
    'Deletes a document and returns its last state. Its unique values are free again, relationships to it keep its id, and ' +
      'a restore brings it back.',
    auth ? 'The sessions of the account end.' : '',
    upload ? 'Its file is no longer served; the bytes are kept for a restore.' : '',
    draftUse(target, 'also a document that is not public.'),
    whoMay(model, target, 'delete'),
  );
}

/** `POST /api/collections/<slug>/{id}/restore` */
export function ofRestore(target: Collection): string {
  return paragraphs(
    `Restores a document to one of its versions, or to its state at a position of the log, also if it was deleted. ${restored}`,
    target.auth ? 'An account comes back without its password and its sessions.' : '',
    'Needs the right to update the document, or to create it if it was deleted, and to see its past state.',
  );
}

/** `GET /api/globals/<slug>` */
export function ofReadGlobal(model: Model, target: Global): string {
  return paragraphs(
    'Returns the single document of this global. Until the global is first written, this is its defaults, and `createdAt` ' +
      'and `updatedAt` are `null`.',
    whoMay(model, target, 'read'),
  );
}

/** `PATCH /api/globals/<slug>` */
export function ofUpdateGlobal(model: Model, target: Global): string {
  return paragraphs(
    merged,
    draftUse(target, 'the fields of the draft change, and nothing that is public.'),
    whoMay(model, target, 'update'),
  );
}

/** `POST /api/globals/<slug>/restore` */
export function ofRestoreGlobal(): string {
  return paragraphs(
    `Restores the global to one of its versions, or to its state at a position of the log. ${restored}`,
    'Needs the right to update the global, and to see its past state.',
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

const merged =
  'Changes the fields in the body and leaves the others. Each field is replaced as a whole: missing members of an object ' +
  'or list are removed or get their defaults. `null` removes a value. If nothing changes, nothing is recorded.';
/** The documents of a call about many. */
export const chosen = 'those with these `ids`, or those that meet `where` and that the caller may read.';
const restored =
  "This makes a new version, and no later version is lost. The past values must fit today's fields, else 400.";

/** The use of the parameter `draft` in a write; empty without drafts. */
function draftUse({ drafts }: Target, use: string): string {
  return drafts ? `With \`draft=true\`, ${use} Without it, the rule \`publish\` decides too.` : '';
}

/** The admitted callers, as far as the configuration has them as data: rules are functions. */
function whoMay(model: Model, target: Target, right: Right): string {
  const auth = target.kind === 'collection' ? target.auth : null;
  if (target.access[right]) {
    const isOpenToKeys = !auth || auth.useAPIKey;
    const each = right === 'create' || target.kind === 'global' ? '' : ', document by document';
    return isOpenToKeys ? `Open to API keys; for other callers a rule decides${each}.` : `A rule decides${each}.`;
  }
  if (!auth) return `Open to any API key${hasUsers(model) ? ' and to any user' : ''}.`;
  const keys = auth.useAPIKey ? 'and to any API key' : 'not to an API key alone';
  const others = right === 'read' || right === 'update' ? ', to any other user for their own account' : '';
  return `Open to users of \`${model.adminCollection}\`${others}, ${keys}.`;
}

function hasUsers({ collections }: Model): boolean {
  return [...collections.values()].some(({ auth }) => auth);
}

/** A text of these paragraphs, without the empty ones. */
export function paragraphs(...parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join('\n\n');
}

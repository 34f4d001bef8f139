import { ApiError } from '../../../../../client/index.ts';
import { versionOf } from '../../../service/client.ts';
import { accountNow } from '../../../service/session.ts';
import type { Editor } from '../editor/open-editor.ts';
import { isObject, type Values } from '../form/values.ts';
import { readSubject, type TaggedDocument, versionIn } from '../save/subject.ts';
import { compare, type Difference } from './merge.ts';

/** A version saved after the one that the form was opened with: the differences, and who saved it. */
export type Conflict = {
  now: TaggedDocument;
  differences: Difference[];
  who: string | null;
  /** The same account saved it, from another tab or device. */
  isOwn: boolean;
  when: string | null;
};

/** Reads the current version after a 412. @throws ApiError if it cannot be read. */
export async function conflictOf(editor: Editor, refused: ApiError, mayLook: boolean): Promise<Conflict> {
  const { subject, form } = editor;
  const now = await readSubject(subject);
  if (now === null) throw new ApiError(refused.message, { status: 404, error: 'Not Found' });
  const read = { ...form.base(), ...editor.draftBase.current, ...beforeIn(refused.body) };
  const differences = compare(form.fields, { read, now: now.document, mine: form.values() });
  const version = versionOf(now.etag);
  const last = mayLook && version !== null ? await versionIn(subject, version).catch(() => null) : null;
  const account = accountNow();
  const isOwn = account !== null && last?.actor.id?.endsWith(`/${account.user.id}`) === true;
  return { now, differences, who: last?.actor.label ?? null, isOwn, when: last?.recordedAt ?? null };
}

/** The values of the version that the save was based on, as far as the body of the 412 has them. */
function beforeIn(body: unknown): Values {
  if (!isObject(body) || !Array.isArray(body.fields)) return {};
  const told = body.fields.filter(
    (one) => isObject(one) && typeof one.field === 'string' && Object.hasOwn(one, 'before'),
  );
  return Object.fromEntries(told.map(({ field, before }) => [field, before]));
}

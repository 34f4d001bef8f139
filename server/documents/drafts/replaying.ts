import type { ResponseObject } from '@hapi/hapi';
import { splitStream } from '../../../events/facts/catalogue.ts';
import { authorize, authorizeAny } from '../../access/access.ts';
import { answerErased } from '../concurrency/idempotency.ts';
import { pastLineOf } from '../past/past-lines.ts';
import { sendTagged, sendText } from '../read/sending.ts';
import { lineOf, linesOf } from '../write/current.ts';
import { placeOf } from '../write/document-writes.ts';
import type { Write } from '../write/write-steps.ts';
import { writtenText } from '../write/written.ts';
import { authorizeAnyPublic, maySee } from './rights.ts';
import { isDraftWrite } from './targets.ts';

/**
 * Gives the first answer to a write of a document with drafts again: the line that was answered, as it was after the
 * write, or before the end of the document. Only the access rules are asked again.
 *
 * @throws DomainError `unauthorized` or `forbidden`; `erased` if the document as it was has been erased.
 */
export async function replayLine(write: Write, stream: string, version: number): Promise<ResponseObject> {
  const { target, present, h, operation, lines } = write;
  const [, id] = splitStream(stream);
  const line = lines?.answered ?? 'public';
  const at = operation === 'delete' ? version - 1 : version;
  const unwritten = target.defaults && { document: target.defaults(), version: 0, position: 0 };
  const past = (await pastLineOf(write, stream, { version: at, line })) ?? unwritten;
  if (!past) throw answerErased();
  const document = target.documentOf(id, past.document);
  await admitAgain(write, { id, document, position: past.position });
  const isReadable = await maySee(write, line, document, past.position);
  const answer = await writtenText(write, document, isReadable);
  const tag = () => present.tag(past.version, answer, { isStored: isReadable, isDraft: line === 'draft' });
  const response = operation === 'delete' ? sendText(h, answer) : sendTagged(h, answer, tag());
  if (operation === 'create') response.location(`${placeOf(write, id)}${isDraftWrite(write) ? '?draft=true' : ''}`);
  return response.header('idempotent-replayed', 'true');
}

type Then = { id: string; document: ReturnType<Write['target']['documentOf']>; position: number };

/** Asks the rule of the write again; that of publishing only whether it admits the caller at all. */
async function admitAgain(write: Write, { id, document, position }: Then): Promise<void> {
  const { target, operation, data, lines } = write;
  const isDraft = isDraftWrite(write);
  const right = lines?.right ?? operation;
  if (right === 'publish') return authorizeAny(write, 'publish');
  if (right === 'create') await authorize(write, 'create', { doc: () => null, data, isDraft });
  else {
    const current = lineOf(target, linesOf(write, id), lines?.addressed ?? 'public');
    // A document that is gone is asked about as it was.
    const subject = current ? { doc: () => current.document, data } : { doc: () => document, data, position };
    await authorize(write, right, { ...subject, isDraft });
  }
  if (!isDraft) await authorizeAnyPublic(write);
}

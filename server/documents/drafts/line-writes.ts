import type { ResponseObject } from '@hapi/hapi';
import { refuseMissing } from '../../access/document-access.ts';
import { releaseRemovals } from '../releases/removal.ts';
import { idIn, streamOf } from '../write/current.ts';
import { placeOf } from '../write/document-writes.ts';
import { beforeAppend, recorded, type Write } from '../write/write-steps.ts';
import { write as append } from '../write/writes.ts';
import { type Answer, answerDeleted, answerLine } from './answers.ts';
import {
  decideLine,
  isMissing,
  type LineDecision,
  type LineSteps,
  type LineSubject,
  newSubject,
  stepsOf,
  subjectOf,
} from './line-steps.ts';
import { maySee } from './rights.ts';
import { isDraftWrite } from './targets.ts';

/** Creates a document with drafts: public at once, or with `draft=true` as a draft. */
export async function createLine(write: Write): Promise<ResponseObject> {
  const subject = newSubject(write);
  const { id } = subject;
  const decided = await decideLine(subject, stepsOf(write));
  const { change } = decided;
  await append(write, streamOf(write.target, id), async () => {
    return { decision: change, also: await beforeAppend(write, { id, change, version: 0 }), answer: null };
  });
  await recorded(write);
  const response = await answerLine(write, answerIn(subject, decided));
  return response.location(`${placeOf(write, id)}${isDraftWrite(write) ? '?draft=true' : ''}`);
}

/** Changes fields of a document or global with drafts: the public ones, or with `draft=true` those of the draft. */
export async function updateLine(write: Write): Promise<ResponseObject> {
  return answerLine(write, await writeLine(write, stepsOf(write)));
}

/**
 * Decides on a document by the steps of a write, and records the decision.
 *
 * @param right what a caller is refused who may not know that there is no such document.
 */
export async function writeLine(
  write: Write,
  steps: LineSteps,
  right: Parameters<typeof refuseMissing>[1] = 'update',
): Promise<Answer> {
  const id = idIn(write);
  const answer = await append(write, streamOf(write.target, id), async () => {
    const subject = subjectOf(write, id);
    if (isMissing(subject, steps)) return refuseMissing(write, right, id, isDraftWrite(write));
    const decided = await decideLine(subject, steps);
    const { change } = decided;
    const also = await beforeAppend(write, { id, change, version: subject.now.head });
    return { decision: change, also, answer: answerIn(subject, decided) };
  });
  await recorded(write);
  return answer;
}

function answerIn({ id }: LineSubject, { change, isEdit: isSaved, ...decided }: LineDecision): Answer {
  const { after, hookContext, isPublished, published } = decided;
  return { id, after, hookContext: change && hookContext, isSaved, isPublished, published };
}

/** Deletes both lines of a document; without `draft=true` only of a public one. */
export async function removeLine(write: Write): Promise<ResponseObject> {
  const id = idIn(write);
  const isDraft = isDraftWrite(write);
  const deleted = await append(write, streamOf(write.target, id), async () => {
    const subject = subjectOf(write, id);
    const { current, now } = subject;
    if (!current) return refuseMissing(write, 'delete', id, isDraft);
    const doc = current.document;
    const { change, hookContext } = await decideLine(subject, stepsOf(write));
    const isReadable = await maySee(write, isDraft ? 'draft' : 'public', doc);
    const others = await beforeAppend(write, { id, change, version: now.head });
    const also = [...others, ...releaseRemovals(write.app, [{ category: write.target.category, id }])];
    return { decision: change, also, answer: { hookContext: { ...hookContext, doc }, isReadable } };
  });
  await recorded(write);
  return answerDeleted(write, deleted);
}

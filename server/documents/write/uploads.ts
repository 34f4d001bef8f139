import { authorizeInAdvance } from '../../access/access.ts';
import { refuseMissing } from '../../access/document-access.ts';
import { fileMissing } from '../../files/uploads/receive.ts';
import { tooMany } from '../../writer/waiting.ts';
import { hasIdempotencyKey, isRecorded } from '../concurrency/idempotency.ts';
import { requireExpected } from '../concurrency/precondition.ts';
import { currentOf, idIn } from './current.ts';
import { refuseTaken } from './unique.ts';
import type { ShownCall, Write, WriteStep } from './write-steps.ts';

/**
 * Admits a caller, as far as can be told, before a body that may be large is read. @throws DomainError as the write
 * does.
 */
export async function admitInAdvance(call: ShownCall, operation: Write['operation']): Promise<void> {
  const current = operation === 'create' ? null : currentOf(call.target, idIn(call));
  // Whether it is what was done before, to a document that is gone by now, the whole body has to tell.
  if (operation !== 'create' && !current && isRecorded(call)) return;
  if (operation !== 'create' && !current) await refuseMissing(call, operation);
  await authorizeInAdvance(call, operation, current?.document ?? null);
  if (current && !hasIdempotencyKey(call.request)) await requireExpected(call, current);
}

/** Keeps the file of a document of an upload collection: a step of writes. */
export function uploads({ app, target, operation, upload }: Write): WriteStep {
  return {
    async admitted() {
      if (operation === 'create' && !upload) throw fileMissing();
    },
    // The bytes are safe before a document names them. Those that it names already may be sent to mend a store.
    async beforeAppend({ change }) {
      if (!upload) return [];
      // It may have come for hours.
      if (app.isCrowded()) throw tooMany();
      if (change) await refuseTaken(target, change);
      await upload.keep();
      return [];
    },
    async ended(error) {
      await upload?.release(error);
    },
  };
}

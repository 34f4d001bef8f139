import { authorizeInAdvance } from '../../access/access.ts';
import { refuseMissing } from '../../access/document-access.ts';
import { fileMissing } from '../../files/uploads/receive.ts';
import { tooMany } from '../../writer/waiting.ts';
import { isRecorded } from '../concurrency/idempotency.ts';
import { hasIdempotencyKey } from '../concurrency/idempotency-key.ts';
import { requireExpected } from '../concurrency/precondition.ts';
import { currentOf, idIn } from './current.ts';
import { refuseTaken } from './unique.ts';
import type { ShownCall, Write, WriteStep } from './write-steps.ts';

/**
 * Refuses a caller before a body that may be large is read, as far as can be told. @throws DomainError as the write
 * does.
 */
export async function admitInAdvance(call: ShownCall, operation: Write['operation']): Promise<void> {
  const current = operation === 'create' ? null : currentOf(call.target, idIn(call));
  // This may repeat a write of a document that is deleted by now: only the whole body can tell.
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
    // The bytes are safe before a document names them. A client may send bytes again to mend a store.
    async beforeAppend({ change }) {
      if (!upload) return [];
      // The body may have taken hours.
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

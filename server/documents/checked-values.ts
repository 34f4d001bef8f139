import { InvalidBody } from '../../config/invalid-body.ts';
import type { JsonObject } from '../../config/schema.ts';
import { hasChangeHooks } from '../../config/traits.ts';
import type { FileValues } from '../../config/uploads.ts';
import { checkFieldsWritable, withOwnHints } from '../access/field-access.ts';
import { noteRequest } from '../http/pulse.ts';
import { beforeChange, type HookContext } from './hooks.ts';
import { checkRelations } from './relations.ts';

/**
 * The values that a body comes to, checked in this order: field access (403), validation (400), field hooks, the collection's hooks.
 *
 * @param file the values of the file that came with it: hooks see them, and cannot change them.
 */
export async function checkedValues(
  hookContext: HookContext & { operation: 'create' | 'update' },
  body: unknown,
  file: FileValues | null = null,
): Promise<JsonObject> {
  const { request, target, operation, doc } = hookContext;
  await checkFieldsWritable(hookContext, operation, { body, doc });
  noteRequest(request);
  let values: JsonObject;
  try {
    values = operation === 'create' ? target.validator.create(body) : target.validator.update(body);
  } catch (error) {
    throw error instanceof InvalidBody ? await withOwnHints(hookContext, error) : error;
  }
  checkRelations(hookContext, values, doc);
  if (hasChangeHooks(target.model)) values = await beforeChange(hookContext, file ? { ...file, ...values } : values);
  return file ? { ...file, ...values } : values;
}

import type { Validator } from '../../../config/documents.ts';
import { InvalidBody } from '../../../config/invalid-body.ts';
import type { JsonObject } from '../../../config/schema.ts';
import { hasChangeHooks } from '../../../config/traits.ts';
import type { FileValues } from '../../../config/uploads.ts';
import { checkFieldsWritable, withOwnHints } from '../../access/field-access.ts';
import { noteRequest } from '../../http/pulse.ts';
import { beforeChange, type HookContext } from '../hooks.ts';
import { checkRelations } from './relations.ts';

/** A body that is to change a document, or to become one. */
type Writing = HookContext & { operation: 'create' | 'update' };

/**
 * The values of a body, after these checks in this order: field access (403), validation (400), field hooks, hooks of
 * the collection.
 *
 * @param file the values of the file that came with the body: hooks see them, and cannot change them.
 */
export async function checkedValues(
  hookContext: Writing,
  body: unknown,
  file: FileValues | null = null,
): Promise<JsonObject> {
  const { operation, doc } = hookContext;
  await checkFieldsWritable(hookContext, operation, { body, doc });
  const values = await hookedValues(hookContext, await validValues(hookContext, body), file);
  return file ? { ...file, ...values } : values;
}

/** The values of a body before any hook. @throws DomainError `validation_failed`. */
export async function validValues(
  hookContext: Writing,
  body: unknown,
  validator: Validator = hookContext.target.validator,
): Promise<JsonObject> {
  const { request, target, operation, doc } = hookContext;
  noteRequest(request);
  const values = await hintedValues({ request, target, validator }, operation, body);
  checkRelations(hookContext, values, doc);
  return values;
}

/**
 * The values of a body, checked without other documents. @throws DomainError `validation_failed` with hints for this
 * caller.
 */
export async function hintedValues(
  asked: Pick<Writing, 'request' | 'target'> & { validator?: Validator },
  operation: Writing['operation'],
  body: unknown,
): Promise<JsonObject> {
  const { validator = asked.target.validator } = asked;
  try {
    return operation === 'create' ? validator.create(body) : validator.update(body);
  } catch (error) {
    throw error instanceof InvalidBody ? await withOwnHints(asked, error) : error;
  }
}

/** Valid values as hooks leave them. */
export async function hookedValues(
  hookContext: Writing,
  values: JsonObject,
  file: FileValues | null = null,
  validator: Validator = hookContext.target.validator,
): Promise<JsonObject> {
  if (!hasChangeHooks(hookContext.target.model)) return values;
  return beforeChange(hookContext, file ? { ...file, ...values } : values, validator);
}

import Boom from '@hapi/boom';
import { DomainError } from '../../config/errors.ts';
import type { Field, FieldHooks, Hook, Hooks, Operation } from '../../config/model.ts';
import { mapObjectsAsync } from '../../config/nesting.ts';
import { type JsonObject, memberOf } from '../../config/schema.ts';
import type { Call } from '../app.ts';
import { noteRequest } from '../http/pulse.ts';
import { requestId, userOf, viewOf } from '../http/requests.ts';

/** The arguments of hooks: the operation, and the document as it was before it (null on create). */
export type Occasion = Call & { operation: Operation; doc: JsonObject | null };

/**
 * Runs the hooks before a change on the values to be written: the fields' first, then the collection's, each on what the
 * one before returned.
 *
 * @throws what the hook throws, with its numeric `statusCode` if it has one: nothing is written.
 */
export async function beforeChange(occasion: Occasion, values: JsonObject): Promise<JsonObject> {
  const { model, validator } = occasion.target;
  const result = await aborting(async () => {
    const changed = await runFieldHooks(model.fields, { kind: 'beforeChange', occasion, values, data: values });
    return runHooks(model.hooks.beforeChange, occasion, changed);
  });
  try {
    return occasion.operation === 'create' ? validator.create(result) : validator.update(result);
  } catch (error) {
    // The caller sent nothing wrong: what does not fit was made by the author's hook.
    throw new Error(`a beforeChange hook of ${model.slug} made a document that is not valid`, { cause: error });
  }
}

/** Runs the hooks before a delete; what they return counts for nothing. */
export async function beforeDelete(occasion: Occasion, document: JsonObject): Promise<void> {
  await aborting(() => runHooks(occasion.target.model.hooks.beforeDelete, occasion, document));
}

/** Runs the hooks after a change or delete. One that throws is logged: what is recorded is recorded. */
export async function after(
  occasion: Occasion,
  kind: 'afterChange' | 'afterDelete',
  document: JsonObject,
): Promise<JsonObject> {
  const { app, request, target } = occasion;
  const { model } = target;
  let result = document;
  for (const hook of model.hooks[kind] ?? []) {
    try {
      result = (await hook(argsOf(occasion, result))) ?? result;
    } catch (err) {
      app.log.error({ err, requestId: requestId(request) }, `an ${kind} hook of ${model.slug} threw`);
    }
  }
  return result;
}

/** Runs the hooks of a read on a stored document. */
export async function onRead(occasion: Occasion, document: JsonObject): Promise<JsonObject> {
  const { model } = occasion.target;
  return aborting(async () => {
    const read = await runHooks(model.hooks.beforeRead, occasion, document);
    const fields = await runFieldHooks(model.fields, { kind: 'afterRead', occasion, values: read, data: read });
    return runHooks(model.hooks.afterRead, occasion, fields);
  });
}

async function runHooks(hooks: Hooks[keyof Hooks], occasion: Occasion, data: JsonObject): Promise<JsonObject> {
  let result = data;
  for (const hook of hooks ?? []) result = (await hook(argsOf(occasion, result))) ?? result;
  return result;
}

/** A run of the hooks of fields: on these values, which stand in or are `data`. */
type FieldRun = { kind: keyof FieldHooks; occasion: Occasion; values: JsonObject; data: JsonObject };

async function runFieldHooks(fields: readonly Field[], run: FieldRun): Promise<JsonObject> {
  const { kind, occasion, values, data } = run;
  const result = { ...values };
  for (const field of fields) {
    const value = memberOf(values, field.name);
    if (value === undefined) continue;
    let changed = await mapObjectsAsync(field, value, (inside) =>
      runFieldHooks(inside.fields, { ...run, values: inside.values }),
    );
    for (const hook of field.hooks?.[kind] ?? []) {
      const returned = await hook({ value: changed, ...argsOf(occasion, data) });
      // null clears the field; nothing returned leaves it as it is.
      if (returned !== undefined) changed = returned;
    }
    result[field.name] = changed;
  }
  return result;
}

function argsOf({ request, operation, doc }: Occasion, data: JsonObject): Parameters<Hook>[0] {
  noteRequest(request);
  return { user: userOf(request), req: viewOf(request), operation, data, doc };
}

/** A hook's refusal is the author's answer to the caller; without a status it is a bug. */
async function aborting<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof DomainError || Boom.isBoom(error) || !(error instanceof Error)) throw error;
    const statusCode = 'statusCode' in error ? Number(error.statusCode) : 0;
    if (!Number.isInteger(statusCode) || statusCode < 400 || statusCode > 599) throw error;
    const boom = new Boom.Boom(error.message, { statusCode });
    // Boom hides the message of every 5xx; this one was written for the caller.
    boom.output.payload.message = error.message;
    throw boom;
  }
}

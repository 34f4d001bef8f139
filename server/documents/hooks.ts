import Boom from '@hapi/boom';
import type { Validator } from '../../config/documents.ts';
import type { ErrorCode } from '../../config/error-codes.ts';
import { DomainError } from '../../config/errors.ts';
import type { Field, FieldHooks, Hook, Hooks, Operation } from '../../config/model.ts';
import { mapObjectsAsync } from '../../config/nesting.ts';
import { type Json, type JsonObject, memberOf } from '../../config/schema.ts';
import { changedNames } from '../../events/facts/lines.ts';
import type { Call } from '../app.ts';
import { noteRequest } from '../http/pulse.ts';
import { requestId, userOf, viewOf } from '../http/requests.ts';

/** The arguments of hooks: the operation, and the document as it was before it (null on create). */
export type HookContext = Call & { operation: Operation; doc: JsonObject | null };

/**
 * Runs the hooks before a change on the values to be written: first the hooks of the fields, then those of the
 * collection. Each gets what the previous hook returned.
 *
 * @throws what the hook throws, with its numeric `statusCode` if it has one: nothing is written.
 */
export async function beforeChange(
  hookContext: HookContext,
  values: JsonObject,
  validator: Validator = hookContext.target.validator,
): Promise<JsonObject> {
  const { model } = hookContext.target;
  const result = await aborting(async () => {
    const changed = await runFieldHooks(model.fields, { kind: 'beforeChange', hookContext, values, data: values });
    return runHooks('beforeChange', hookContext, changed);
  });
  try {
    return hookContext.operation === 'create' ? validator.create(result) : validator.update(result);
  } catch (error) {
    // The caller sent nothing wrong: the author's hook made the value that is not valid.
    throw new Error(`a beforeChange hook of ${model.slug} made a document that is not valid`, { cause: error });
  }
}

/** Runs the hooks before a delete; what they return is ignored. */
export async function beforeDelete(hookContext: HookContext, document: JsonObject): Promise<void> {
  await aborting(() => runHooks('beforeDelete', hookContext, document));
}

/** Runs the hooks after a change or delete. An error of a hook is logged: the change is recorded already. */
export function runAfterHooks(
  hookContext: HookContext,
  kind: 'afterChange' | 'afterDelete',
  document: JsonObject,
): Promise<JsonObject> {
  const hooks = hookContext.target.model.hooks[kind] ?? [];
  return logged(hookContext, { kind, hooks, document }, (data) => argsOf(hookContext, data));
}

type AfterRun<A> = {
  kind: string;
  hooks: readonly ((args: A) => JsonObject | undefined | Promise<JsonObject | undefined>)[];
  document: JsonObject;
};

async function logged<A extends Parameters<Hook>[0]>(
  hookContext: HookContext,
  { kind, hooks, document }: AfterRun<A>,
  argsFor: (data: JsonObject) => A,
): Promise<JsonObject> {
  const { app, request, target } = hookContext;
  let result = document;
  for (const hook of hooks) {
    try {
      result = (await heeded(hookContext, `${kind} hook`, hook, argsFor(result))) ?? result;
    } catch (err) {
      app.log.error({ err, requestId: requestId(request) }, `an ${kind} hook of ${target.slug} threw`);
    }
  }
  return result;
}

/** A document that is made public: as it will be then, and the public document until then; null without one. */
type Publication = { document: JsonObject; published: JsonObject | null };

/**
 * Runs the hooks before a document becomes public; gives the fields that they change.
 *
 * @throws what a hook throws, as in {@link beforeChange}: nothing is written.
 */
export async function beforePublish(
  hookContext: HookContext,
  { document, published }: Publication,
): Promise<JsonObject> {
  const { model, validator } = hookContext.target;
  if (!model.hooks.beforePublish) return {};
  const result = await aborting(async () => {
    let data = document;
    for (const hook of model.hooks.beforePublish ?? []) {
      const args = { ...argsOf(hookContext, data), published };
      data = (await heeded(hookContext, 'beforePublish hook', hook, args)) ?? data;
    }
    return data;
  });
  const changed = changedNames(document, { ...document, ...result });
  try {
    return validator.update(Object.fromEntries(changed.map((name) => [name, result[name]])));
  } catch (error) {
    throw new Error(`a beforePublish hook of ${model.slug} made a document that is not valid`, { cause: error });
  }
}

/** Runs the hooks after a document became public. An error of a hook is logged: the publication is recorded already. */
export function afterPublish(hookContext: HookContext, { document, published }: Publication): Promise<JsonObject> {
  const { model } = hookContext.target;
  return logged(hookContext, { kind: 'afterPublish', hooks: model.hooks.afterPublish ?? [], document }, (data) => ({
    ...argsOf(hookContext, data),
    published,
  }));
}

/** Runs the hooks of a read on a stored document. */
export async function onRead(hookContext: HookContext, document: JsonObject): Promise<JsonObject> {
  const { model } = hookContext.target;
  return aborting(async () => {
    const read = await runHooks('beforeRead', hookContext, document);
    const fields = await runFieldHooks(model.fields, { kind: 'afterRead', hookContext, values: read, data: read });
    return runHooks('afterRead', hookContext, fields);
  });
}

type DocumentHooks = Exclude<keyof Hooks, `${string}Publish`>;

async function runHooks(kind: DocumentHooks, hookContext: HookContext, data: JsonObject): Promise<JsonObject> {
  let result = data;
  for (const hook of hookContext.target.model.hooks[kind] ?? [])
    result = (await heeded(hookContext, `${kind} hook`, hook, argsOf(hookContext, result))) ?? result;
  return result;
}

/** A run of the hooks of fields: on these values, which are `data` or are inside it. */
type FieldRun = { kind: keyof FieldHooks; hookContext: HookContext; values: JsonObject; data: JsonObject };

async function runFieldHooks(fields: readonly Field[], run: FieldRun): Promise<JsonObject> {
  const { kind, hookContext, values, data } = run;
  const result = { ...values };
  for (const field of fields) {
    const value = memberOf(values, field.name);
    if (value === undefined) continue;
    let changed = await mapObjectsAsync(field, value, (inside) =>
      runFieldHooks(inside.fields, { ...run, values: inside.values }),
    );
    for (const hook of field.hooks?.[kind] ?? []) {
      const args = { value: changed, ...argsOf(hookContext, data) };
      const returned = await heeded(hookContext, `${kind} hook of the field ${field.name}`, hook, args);
      // null clears the field; undefined leaves it as it is.
      if (returned !== undefined) changed = returned;
    }
    result[field.name] = changed;
  }
  return result;
}

function argsOf({ request, operation, doc }: HookContext, data: JsonObject): Parameters<Hook>[0] {
  noteRequest(request);
  return { user: userOf(request), req: viewOf(request), operation, data, doc };
}

const given = ['value', 'data', 'doc'] as const;

/**
 * Runs a hook. Only what it returns counts, so a hook that changes its arguments is an error. Production does not check
 * that: the comparison would cost each request, and the author would not see the error.
 */
async function heeded<A extends Parameters<Hook>[0] & { value?: Json }, T>(
  { app, target }: HookContext,
  name: string,
  hook: (args: A) => T | Promise<T>,
  args: A,
): Promise<T> {
  if (app.isProduction) return hook(args);
  const before = given.map((key) => textOf(args[key]));
  // A hook may replace its arguments, which changes nothing.
  const returned = await hook({ ...args });
  const changed = given.find((key, at) => textOf(args[key]) !== before[at]);
  if (changed === undefined) return returned;
  throw new Error(
    `the ${name} of ${target.model.slug} changed ${changed} in place, where only what a hook returns counts: return a changed copy`,
  );
}

/** A value as JSON; null if a hook has made a value that JSON cannot hold: that is checked later. */
function textOf(value: unknown): string | null {
  try {
    return JSON.stringify(value) ?? null;
  } catch {
    return null;
  }
}

/** A hook's refusal is the author's answer to the caller; without a status it is a bug. */
async function aborting<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof DomainError || !(error instanceof Error)) throw error;
    if (Boom.isBoom(error)) throw refused(error);
    const statusCode = 'statusCode' in error ? Number(error.statusCode) : 0;
    if (!Number.isInteger(statusCode) || statusCode < 400 || statusCode > 599) throw error;
    const boom = new Boom.Boom(error.message, { statusCode });
    // Boom hides the message of every 5xx; this one was written for the caller.
    boom.output.payload.message = error.message;
    throw refused(boom);
  }
}

function refused(boom: Boom.Boom): Boom.Boom {
  Object.assign(boom.output.payload, { code: 'hook_refused' satisfies ErrorCode });
  return boom;
}

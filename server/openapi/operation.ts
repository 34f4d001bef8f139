import Joi from 'joi';
import type { Collection, Field, Global, Model } from '../../config/model.ts';
import { fieldsInside } from '../../config/nesting.ts';
import { hasChangeHooks, hasReadHooks } from '../../config/traits.ts';
import { leastSecretKey } from '../http/headers.ts';
import type { Parameter } from '../queries/parameters.ts';
import type { AdmittedCallers } from './callers.ts';
import {
  type DescribedAnswers,
  ofHooks,
  refusalForNow,
  refusalOfLarge,
  refusals,
  refusalsForNow,
  refusalsOfThen,
  refusalsOfUploads,
} from './responses.ts';
import type { MultipartForm } from './uploads.ts';

/** Query parameters by their names, as the document has them. */
export type ParameterDescriptions = Record<string, Pick<Parameter, 'told'>>;

/** The OpenAPI description of a route. */
export type ApiOperation = {
  /** Unique in the document, and the same from one start to the next. */
  id: string;
  tag: string;
  summary: string;
  /** Its effect, in CommonMark: more than the summary. */
  description: string;
  params?: Joi.ObjectSchema;
  /** The table by which the route reads its query. */
  query?: ParameterDescriptions;
  headers?: Joi.ObjectSchema;
  /** The name of the schema of a JSON body. */
  body?: string;
  /** Whether the body is merged into what there is, so that it may have the type of a merge patch (RFC 7396). */
  isMerge?: boolean;
  /** Whether a call without a body is as one with `{}`. */
  isBodyOptional?: boolean;
  /** The form that is taken, in the place of a JSON body or beside it. */
  form?: MultipartForm;
  /** Without those that follow from `caller`. */
  answers: DescribedAnswers;
  caller: AdmittedCallers;
};

declare module '@hapi/hapi' {
  interface PluginSpecificConfiguration {
    /** Gives what the OpenAPI document says about the route: called when the document is made, never for a request. */
    openApi?: () => ApiOperation;
  }
}

/** The headers of a document or global that is read. */
export const ifKnown = Joi.object({
  'If-None-Match': Joi.string().description(
    'The `ETag` of the answer that the client has: as long as it is the same, the answer is a 304 without a body.',
  ),
});
/** Which version of a document or global a write is meant for, as a header. */
export const ifMatch = Joi.string().description(
  'The `ETag` of the version that the client has read, or `*`. If the document has another version, the answer is a 412 ' +
    'and nothing is done. Without `If-Match`, the last write of a field wins.',
);
/** Why the caller writes, as a header. */
export const reason = Joi.string()
  .max(500)
  .description("The reason. Text outside of latin1 is percent-encoded UTF-8 after `UTF-8''` (RFC 8187).");

const key = Joi.string()
  .min(1)
  .max(255)
  .pattern(/^[!-~]+$/)
  .description(
    'Makes the request safe to retry: a request with the same key and body within 7 days gets the first answer again.',
  );

const keptKey = Joi.string()
  .min(1)
  .max(255)
  .pattern(/^[!-~]+$/)
  .description(
    'Makes the request safe to retry: a request with the same key and body within an hour gets the first answer again.',
  );

/** The headers of a request whose answer is kept. */
export const headersOfKept = Joi.object({ 'Idempotency-Key': keptKey });

/** The headers of a request whose answer is kept and has a secret, which is encrypted by the key. */
export const headersOfSecret = Joi.object({
  'X-Change-Reason': reason,
  'Idempotency-Key': keptKey.min(leastSecretKey),
});

/** The headers of a write that no collection is known of. */
export const headersOfAnyWrite = Joi.object({ 'X-Change-Reason': reason, 'Idempotency-Key': key });

/** The headers of a write. */
export function headersOfWrite(target: Collection | Global, others: Record<string, Joi.Schema> = {}): Joi.ObjectSchema {
  const isNeeded = target.kind === 'collection' && target.requiresReason;
  return Joi.object({ 'X-Change-Reason': isNeeded ? reason.required() : reason, 'Idempotency-Key': key, ...others });
}

/** The refusals of a read, without those for missing rights. */
export function readRefusals(model: Model, target: Collection | Global): DescribedAnswers {
  return { ...queryRefusals(target), ...ofHooks(readsThroughHooks(model, target)) };
}

/** The refusals of a read that sends no document, so that no hook runs; of one of these targets or of all. */
export function queryRefusals(...targets: readonly (Collection | Global)[]): DescribedAnswers {
  // Reads as of a moment: by the audit rule, unless the collection opens them to all its readers.
  const isOpen = targets.some((target) => target.kind === 'collection' && target.hasPublicHistory);
  return { ...refusals([400, 500]), ...(isOpen ? {} : refusals([403])), ...refusalsOfThen };
}

/** The refusals of a write, without those for missing rights. It is answered as a read is, but takes no `depth`. */
export function writeRefusals({ limits }: Model, target: Collection | Global): DescribedAnswers {
  const collection = target.kind === 'collection' ? target : null;
  return {
    ...refusals([400, 408, 415, 500]),
    ...refusalOfLarge(limits.body),
    ...refusalForNow,
    ...(collection?.auth ? refusalsForNow([503]) : {}),
    ...(collection?.upload ? refusalsOfUploads : {}),
    ...ofHooks(hasChangeHooks(target) || hasReadHooks(target)),
  };
}

/** True when a read of a target, to any depth, runs hooks. */
export function readsThroughHooks(model: Model, target: Collection | Global): boolean {
  return [...withinDepth(model, target)].some(hasReadHooks);
}

/** A target with every collection whose documents `depth` may put into its answers. */
function withinDepth({ collections }: Model, target: Collection | Global): Set<Collection | Global> {
  const found = new Set([target]);
  // Targets added on the way are walked too.
  for (const { fields } of found) {
    for (const slug of relatedIn(fields)) {
      const related = collections.get(slug);
      if (related) found.add(related);
    }
  }
  return found;
}

function relatedIn(fields: readonly Field[]): string[] {
  return fields.flatMap((field) => {
    const slug = field.relationTo ?? field.collection;
    return [...(slug ? [slug] : []), ...relatedIn(fieldsInside(field))];
  });
}

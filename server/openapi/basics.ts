import type { Schema } from './fields.ts';

/** A text. */
export const text: Schema = { type: 'string' };

/** A time, as an answer has it. */
export const time: Schema = { type: 'string', format: 'date-time' };

/** Yes or no. */
export const flag: Schema = { type: 'boolean' };

/** A member of a body that counts for nothing, so that a document that was read can be sent back. */
export const ignored: Schema = { description: 'Made by the server, ignored in a body.', readOnly: true };

/** An object that has these members and no other. */
export function closed(properties: Record<string, Schema>, required = Object.keys(properties)): Schema {
  return { type: 'object', properties, ...(required.length > 0 ? { required } : {}), additionalProperties: false };
}

/** How many. */
export const count: Schema = { type: 'integer', minimum: 0 };

/** A place in the log or in a stream, from 1. */
export const place: Schema = { type: 'integer', minimum: 1 };

/** A member that is present only if it is true. */
export const isTrue: Schema = { type: 'boolean', enum: [true] };

/** null. */
export const nothing: Schema = { type: 'object', nullable: true, enum: [null] };

/** A list of these. */
export function listOf(items: Schema): Schema {
  return { type: 'array', items };
}

/** A page of a list (contract, section 2.5). */
export function pageOf(docs: Schema): Schema {
  return closed({
    docs: listOf(docs),
    total: count,
    limit: { ...place, maximum: 100 },
    page: place,
    totalPages: count,
    hasNextPage: flag,
    hasPrevPage: flag,
    nextPage: orNull(place),
    prevPage: orNull(place),
  });
}

/** This, or null. */
export function orNull(schema: Schema): Schema {
  return { ...schema, nullable: true };
}

/** This, with a word about it. */
export function described(schema: Schema, description: string): Schema {
  return { ...schema, description };
}

/** Where the next page of a list begins: the parameter of this name. */
export function cursor(parameter: string): Schema {
  return described(orNull(count), `The \`${parameter}\` of the next page; null at the end.`);
}

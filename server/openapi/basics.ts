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

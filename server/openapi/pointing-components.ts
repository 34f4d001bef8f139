import { actorTypes } from '../../projections/tables/audit.ts';
import { closed, described, nothing, orNull, pageOf, place, text, time } from './basics.ts';
import type { Schema } from './fields.ts';

const ofReference = {
  field: described(text, 'The path of the field, without places in lists.'),
  title: text,
};

const actor = closed({ type: { type: 'string', enum: [...actorTypes] }, id: text }, ['type']);

/** The schema of what points at a document, where there are collections. */
export const pointingSchemas: Record<string, Schema> = {
  References: pageOf({
    oneOf: [
      closed({ collection: described(text, 'The slug of the collection.'), id: text, ...ofReference }),
      closed({ global: described(text, 'The slug of the global.'), id: nothing, ...ofReference }),
    ],
  }),
};

/** The schema of what is in the trash. */
export const trashSchemas: Record<string, Schema> = {
  Trash: pageOf(
    closed({
      collection: described(text, 'The slug of the collection.'),
      id: text,
      title: described(orNull(text), '`null` without the audit scope `payloads`.'),
      deletedAt: time,
      deletedBy: described(orNull(actor), '`null` without the audit scope `headers`.'),
      reason: described(orNull(text), '`null` where there is no reason, or without the audit scope `payloads`.'),
      version: described(place, 'The last version of the document, that a restore may name.'),
    }),
  ),
};

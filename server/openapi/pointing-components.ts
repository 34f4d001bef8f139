import type { Actor } from '../../events/facts/envelope.ts';
import { actorTypes } from '../../projections/tables/audit.ts';
import { choice, closed, described, either, nothing, orNull, pageOf, place, text, time } from './basics.ts';

const ofReference = {
  field: described(
    text,
    'The path of the field, without the indexes of lists; a document that points here by two fields is listed twice.',
  ),
  title: text,
};

/** The kinds of authors of events. */
export const actorType = choice(actorTypes as readonly Actor['type'][]);

/** The author of an event. */
export const actor = closed({ type: actorType, id: text }, ['type']);

/** The schema of the references to a document, if there are collections. */
export const pointingSchemas = {
  References: pageOf(
    either(
      closed({ collection: described(text, 'The slug of the collection.'), id: text, ...ofReference }),
      closed({ global: described(text, 'The slug of the global.'), id: nothing, ...ofReference }),
    ),
  ),
};

/** The schema of the trash. */
export const trashSchemas = {
  Trash: pageOf(
    closed({
      collection: described(text, 'The slug of the collection.'),
      id: text,
      title: described(orNull(text), '`null` without the audit scope `payloads`.'),
      deletedAt: time,
      deletedBy: described(orNull(actor), '`null` without the audit scope `headers`.'),
      reason: described(orNull(text), '`null` if there is no reason, or without the audit scope `payloads`.'),
      version: described(place, 'The last version of the document; a restore can name it.'),
    }),
  ),
};

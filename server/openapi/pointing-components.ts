import { closed, described, nothing, pageOf, text } from './basics.ts';
import type { Schema } from './fields.ts';

const ofReference = {
  field: described(text, 'The path of the field, without places in lists.'),
  title: text,
};

/** The schemas of what points at a document. */
export const pointingSchemas: Record<string, Schema> = {
  References: pageOf({
    oneOf: [
      closed({ collection: described(text, 'The slug of the collection.'), id: text, ...ofReference }),
      closed({ global: described(text, 'The slug of the global.'), id: nothing, ...ofReference }),
    ],
  }),
};

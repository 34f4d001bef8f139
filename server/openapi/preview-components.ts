import { closed, text } from './basics.ts';
import type { Schema } from './fields.ts';

const draft = {
  collection: { ...text, description: 'The slug of the collection.' },
  id: { ...text, description: 'The id of a document of it.' },
  data: { type: 'object', description: 'The draft, as a form has it: nothing of it is checked.' },
} satisfies Record<string, Schema>;

/** The schemas that the operations name. */
export const previewSchemas: Record<string, Schema> = {
  Preview: closed(draft),
  PreviewToken: closed({ token: { ...text, description: 'Shows the draft for 15 minutes, to anyone who has it.' } }),
};

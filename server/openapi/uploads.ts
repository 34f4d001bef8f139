import { counted } from '../../config/counted.ts';
import { isList, typeFacts } from '../../config/field-types.ts';
import type { Collection, Field, UploadOptions } from '../../config/model.ts';
import { isNesting } from '../../config/nesting.ts';
import { isObject } from '../../config/schema.ts';
import { type ApiSchema, objectOf } from './fields.ts';

/** An upload collection. */
type UploadCollection = Collection & { upload: UploadOptions };

/** A body in `multipart/form-data`: the name of its schema, and how parts are sent that are not one text each. */
export type MultipartForm = { schema: string; encoding: Record<string, Encoding> };

type Encoding = { contentType: string } | { style: 'form'; explode: true };

/** True for a collection whose documents are files. */
export function isUploadCollection(collection: Collection): collection is UploadCollection {
  return collection.upload !== null;
}

/** The form that creates a file, or updates one: then the file may be left out. */
export function formOf({ slug, fields }: UploadCollection, use: 'create' | 'update'): MultipartForm {
  const encodings = fields.flatMap((field) => {
    const encoding = encodingOf(field);
    return encoding ? [[field.name, encoding] as const] : [];
  });
  return { schema: schemaNames[use](slug), encoding: Object.fromEntries(encodings) };
}

/**
 * The schemas of the forms of an upload collection, by their names.
 *
 * @param own members that are not fields, by name.
 */
export function uploadSchemas(
  { slug, fields, upload }: UploadCollection,
  own: Record<string, ApiSchema>,
): Record<string, ApiSchema> {
  const formFor = (use: 'create' | 'update') => {
    const { properties, required = [], ...rest } = objectOf(fields, use, own);
    const needed = [...(use === 'create' ? ['file'] : []), ...(Array.isArray(required) ? required : [])];
    return {
      ...rest,
      description:
        'Each text is parsed by the type of its field. An empty text is null, except in text fields. A list of texts may ' +
        'repeat its name.',
      properties: { file: fileOf(upload), ...(isObject(properties) ? properties : {}) },
      ...(needed.length > 0 ? { required: needed } : {}),
    };
  };
  return { [schemaNames.create(slug)]: formFor('create'), [schemaNames.update(slug)]: formFor('update') };
}

const schemaNames = {
  create: (slug: string) => `collections.${slug}.upload`,
  update: (slug: string) => `collections.${slug}.updateUpload`,
};

/** A list of texts repeats its name, and nested values are JSON. */
function encodingOf(field: Field): Encoding | null {
  if (field.isServerMade) return null;
  if (isNesting(field) || typeFacts[field.type].isJson) return { contentType: 'application/json' };
  return field.type !== 'join' && isList(field) ? { style: 'form', explode: true } : null;
}

function fileOf({ maxFileSize, mimeTypes }: UploadOptions): ApiSchema {
  const types = mimeTypes ? `, of the types ${mimeTypes.join(', ')}` : '';
  return {
    type: 'string',
    format: 'binary',
    description:
      `The file: at most ${counted(maxFileSize, 'byte')}${types}. ` +
      'The service detects the type from the bytes and ignores the type that the part declares.',
  };
}

import type { Field } from '../../../config/model.ts';
import { type FieldType, isList } from '../../../config/schema.ts';
import { comment, memberName } from './text.ts';

/** Where a type stands: in an answer, of a global or not; in what is created, or in what is changed. */
export type Use = 'answer' | 'global' | 'create' | 'update';

/** What the types of fields refer to. */
export type References = {
  /** The name of the options of a field, or of what its fields or blocks are the type of. */
  nameOf: (field: Field) => string;
  /** The document of a collection one level down. */
  related: (slug: string) => string;
};

/** How the values of each type of field are written; those of lists are told by their items. */
const values: Record<FieldType, (field: Field, use: Use, references: References) => string> = {
  text: () => 'string',
  textarea: () => 'string',
  richText: json,
  email: () => 'string',
  url: () => 'string',
  number: () => 'number',
  boolean: () => 'boolean',
  date: () => 'string',
  datetime: () => 'string',
  time: () => 'string',
  select: (field, _, { nameOf }) => nameOf(field),
  radio: (field, _, { nameOf }) => nameOf(field),
  multiSelect: (field, _, { nameOf }) => nameOf(field),
  relationship: reference,
  upload: reference,
  object: part,
  array: part,
  blocks: part,
  json,
  join: ({ collection = '' }, _, { related }) => `Related<${related(collection)}, JoinDepth>`,
  row: () => 'never',
};

/** The members of an object of fields, a line each and comments before them. */
export function membersOf(fields: readonly Field[], use: Use, references: References): string[] {
  return fields.flatMap((field) => {
    const { label, admin } = field;
    const mark = isOptional(field, use) ? '?' : '';
    const about = comment([label, admin?.description].filter(Boolean).join('. '), '  ');
    return [...about, `  ${memberName(field.name)}${mark}: ${typeOf(field, use, references)};`];
  });
}

/** What the type of an object, of an item or of a block is called in answers and in bodies. */
export function partName(name: string, use: Use, isDeep: boolean): string {
  if (!isAnswered(use)) return `${name}Input`;
  return isDeep ? `${name}<Depth>` : name;
}

/** The head of an interface of these fields in answers. In related documents, joins stay ids. */
export function withDepth(name: string, fields: readonly Field[]): string {
  const joins = hasJoins(fields) ? ', JoinDepth extends number = Depth' : '';
  return followsDepth(fields) ? `${name}<Depth extends number = 0${joins}>` : name;
}

/** Whether other documents are joined to a document of these fields. */
export function hasJoins(fields: readonly Field[]): boolean {
  return fields.some(({ type }) => type === 'join');
}

/** Whether documents stand somewhere in these fields when they are asked for with a depth. */
export function followsDepth(fields: readonly Field[]): boolean {
  return fields.some(({ relationTo, collection, fields: inside = [], blocks = [] }) => {
    return relationTo || collection || followsDepth(inside) || blocks.some((block) => followsDepth(block.fields));
  });
}

function isOptional({ access, required, makeDefault }: Field, use: Use): boolean {
  if (isAnswered(use)) return access?.read !== undefined;
  return use === 'update' || !required || makeDefault !== undefined;
}

function typeOf(field: Field, use: Use, references: References): string {
  const { name, type } = field;
  const isAnswer = isAnswered(use);
  // Inside a field that is changed, what is required has to be given as in a new document.
  const one = values[type](field, isAnswer ? 'answer' : 'create', references);
  const parts = [isList(field) ? `${isAnswer ? '' : 'readonly '}${one}[]` : one];
  if (hasNull(field, use) && !(isJson(field) && !field.required)) parts.push('null');
  // To the compiler every object has these, so what may be left out has to allow for it.
  if (!isAnswer && isOptional(field, use) && Object.hasOwn(Object.prototype, name)) {
    parts.push(`typeof Object.prototype.${name}`);
  }
  return parts.join(' | ');
}

/** A global that was never written answers its defaults: what is required has no value where it has no default. */
function hasNull(field: Field, use: Use): boolean {
  if (isAnswered(use) && isList(field)) return false;
  return !field.required || (use === 'global' && !field.makeDefault);
}

function isAnswered(use: Use): boolean {
  return use === 'answer' || use === 'global';
}

function isJson({ type }: Field): boolean {
  return type === 'json' || type === 'richText';
}

/** JSON has null in it. */
function json({ required }: Field, use: Use): string {
  const type = use === 'answer' ? 'Json' : 'JsonInput';
  return required ? `Exclude<${type}, null>` : type;
}

function reference({ relationTo = '' }: Field, use: Use, { related }: References): string {
  return use === 'answer' ? `Related<${related(relationTo)}, Depth>` : 'string';
}

/** What has fields of its own has a name of its own. */
function part(field: Field, use: Use, { nameOf }: References): string {
  return partName(nameOf(field), use, followsDepth([field]));
}

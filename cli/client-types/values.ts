import { isList, typeFacts } from '../../config/field-types.ts';
import type { Field } from '../../config/model.ts';
import { fieldsInside, isNesting } from '../../config/nesting.ts';
import { comment, memberName } from './text.ts';

/** Where a type is used: in an answer, of a global or not; in the body of a creation, or of a change. */
export type TypeUse = 'answer' | 'global' | 'create' | 'update';

/** The names that the types of fields refer to. */
export type References = {
  /** The name of the options of a field, or of what its fields or blocks are the type of. */
  nameOf: (field: Field) => string;
  /** The document of a collection one level down. */
  related: (slug: string) => string;
};

/** The members of an object of fields, a line each and comments before them. */
export function membersOf(fields: readonly Field[], use: TypeUse, references: References): string[] {
  return fields.flatMap((field) => {
    const { label, admin } = field;
    const mark = isOptional(field, use) ? '?' : '';
    const about = comment([label, admin?.description].filter(Boolean).join('. '), '  ');
    return [...about, `  ${memberName(field.name)}${mark}: ${typeOf(field, use, references)};`];
  });
}

/** The name of the type of an object, of an item or of a block in answers and in bodies. */
export function partName(name: string, use: TypeUse, isDeep: boolean): string {
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

/** Whether an answer with a depth has documents in these fields. */
export function followsDepth(fields: readonly Field[]): boolean {
  return fields.some((field) => field.relationTo || field.collection || followsDepth(fieldsInside(field)));
}

function isOptional({ access, required, makeDefault }: Field, use: TypeUse): boolean {
  if (isAnswered(use)) return access?.read !== undefined;
  return use === 'update' || !required || makeDefault !== undefined;
}

function typeOf(field: Field, use: TypeUse, references: References): string {
  const { name } = field;
  const isAnswer = isAnswered(use);
  // Inside a changed field, required fields must be given as in a new document.
  const one = oneOf(field, isAnswer ? 'answer' : 'create', references);
  const parts = [isList(field) ? `${isAnswer ? '' : 'readonly '}${one}[]` : one];
  if (hasNull(field, use) && !(typeFacts[field.type].isJson && !field.required)) parts.push('null');
  // To the compiler every object has these, so what may be left out has to allow for it.
  if (!isAnswer && isOptional(field, use) && Object.hasOwn(Object.prototype, name)) {
    parts.push(`typeof Object.prototype.${name}`);
  }
  return parts.join(' | ');
}

const columns = { TEXT: 'string', REAL: 'number', INTEGER: 'boolean' };

/** The type of a value of a field; of a list, the type of its items. */
function oneOf(field: Field, use: TypeUse, { nameOf, related }: References): string {
  const { type, options, relationTo, collection } = field;
  if (options) return nameOf(field);
  if (collection !== undefined) return `Related<${related(collection)}, JoinDepth>`;
  if (relationTo !== undefined) return use === 'answer' ? `Related<${related(relationTo)}, Depth>` : 'string';
  // A field with inner fields has a named type.
  if (isNesting(field)) return partName(nameOf(field), use, followsDepth([field]));
  const { column } = typeFacts[type];
  return column ? columns[column] : json(field, use);
}

/** A global that was never written answers its defaults: a required field without a default has no value. */
function hasNull(field: Field, use: TypeUse): boolean {
  if (isAnswered(use) && isList(field)) return false;
  return !field.required || (use === 'global' && !field.makeDefault);
}

function isAnswered(use: TypeUse): boolean {
  return use === 'answer' || use === 'global';
}

/** JSON has null in it. */
function json({ required }: Field, use: TypeUse): string {
  const type = use === 'answer' ? 'Json' : 'JsonInput';
  return required ? `Exclude<${type}, null>` : type;
}

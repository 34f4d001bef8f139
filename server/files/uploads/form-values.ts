import { cutField, type Fault, type FieldError, inBody, invalidFields } from '../../../config/errors.ts';
import { typeFacts } from '../../../config/field-types.ts';
import type { Field } from '../../../config/model.ts';
import type { Json, JsonObject } from '../../../config/schema.ts';
import { show } from '../../../config/suggest.ts';
import { lostNumbers } from '../../platform/whole-numbers.ts';
import { isReadAsJson, readingOf, readJson } from '../../queries/field-texts.ts';
import type { FormTexts } from './form.ts';

/** The types for which an empty text is a value; for all others it is not one. */
const textTypes: ReadonlySet<string> = new Set(['text', 'textarea']);

/** Lists of texts: a form may give one by repeating its name. */
const isRepeatable = (field: Field) => field.type === 'multiSelect' || field.hasMany === true;

/**
 * Prepares the conversion of the texts of a form into a JSON body. A text that does not have the form of its field's
 * type stays a text, which the validator then refuses; so do unknown names.
 *
 * @throws DomainError `validation_failed` naming every field that is given twice and is not a list, is not JSON
 * although the   field takes any JSON, or holds whole numbers that JSON does not keep.
 */
export function compileTexts(fields: readonly Field[]): (texts: FormTexts) => JsonObject {
  const byName = new Map(fields.map((field) => [field.name, field]));

  return (texts) => {
    const values: [string, Json][] = [];
    const errors: FieldError[] = [];
    const refuse = (fault: Fault, problem: string) => errors.push({ ...fault, message: `${fault.field} ${problem}` });
    for (const [name, [first = '', ...more]] of texts) {
      const field = byName.get(name);
      if (!field || field.isServerMade || field.type === 'join') values.push([name, first]);
      else if (isRepeatable(field)) values.push([name, more.length > 0 ? [first, ...more] : readOneOfList(first)]);
      else if (more.length > 0) refuse(inBody(name, 'duplicate'), 'is given twice');
      else {
        const value = readOne(field, first);
        const lost = value !== undefined && isReadAsJson(field) ? lostNumbers(first) : [];
        for (const { path, problem } of lost)
          refuse(inBody(cutField([name, ...path].join('.')), 'unsafe_number'), `must ${problem}`);
        if (value === undefined) refuse(inBody(name, 'type'), `must be JSON, got ${show(first)}`);
        else values.push([name, value]);
      }
    }
    if (errors.length > 0) throw invalidFields(errors);
    // Not by assignment: a name may be that of a member which every object has, such as `__proto__`.
    return Object.fromEntries(values);
  };
}

function readOneOfList(text: string): Json {
  if (text === '') return null;
  const value = readJson(text);
  return Array.isArray(value) ? value : [text];
}

/** Undefined for a text that is not JSON, if the field takes any JSON: it would take the text for a value. */
function readOne(field: Field, text: string): Json | undefined {
  if (textTypes.has(field.type)) return text;
  if (text === '') return null;
  const value = readingOf(field)?.read(text);
  return value === undefined && !typeFacts[field.type].isJson ? text : value;
}

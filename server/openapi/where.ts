import type { Collection, Field } from '../../config/model.ts';
import { type Operator, operatorNames } from '../../config/operators.ts';
import { ownFields } from '../../config/sorting.ts';
import { lineFields } from '../queries/line-fields.ts';
import { leafOf } from '../queries/paths.ts';
import { operatorsFor } from '../queries/values.ts';
import { mostInWhere } from '../queries/where.ts';
import { type ApiSchema, nullable, schemaRef } from './fields.ts';

/** The filter of a collection: `and` and `or`, its fields with the operators of their types, and paths below them. */
export function whereOf({ slug, fields, drafts }: Collection): ApiSchema {
  const filters = { type: 'array', items: schemaRef(`collections.${slug}.where`), minItems: 1 };
  const { toFilter } = lineFields(drafts ? 'editors' : null);
  const given = [...ownFields, ...toFilter, ...fields].filter(({ type }) => type !== 'join');
  return {
    type: 'object',
    description: 'Fields and dotted paths with their conditions, all of which must hold.',
    properties: {
      and: filters,
      or: filters,
      ...Object.fromEntries(given.map((field) => [field.name, conditionOf(field)])),
    },
    // Lists are never there: without them, no type of TypeScript could have `and` and `or` beside the paths.
    additionalProperties: { oneOf: [schemaRef('Condition'), filters] },
  };
}

const ofLists = '`in` and `not_in` take a list of values, or one text with the values separated by commas.';

/** The conditions that are the same in every collection: of a path, and of fields by their type of comparison. */
export const conditionSchemas: Record<string, ApiSchema> = {
  Condition: {
    ...conditions(operatorNames.map((name) => [name, {}])),
    description:
      'The condition of a dotted path, which leads through objects, lists and relationships to a field that the caller may ' +
      'read; a path to an unknown field is refused. The field determines the operators and the type of their values: `in` and ' +
      '`not_in` take values separated by commas, `exists` takes true or false. A field that a read hook changes can be used ' +
      `only if it is \`queryable\`. A filter has at most ${mostInWhere.levels} levels, ${mostInWhere.conditions} conditions ` +
      `and ${mostInWhere.hops} relationships in the paths of all conditions together.`,
  },
  TextCondition: conditionWith({ type: 'text' }),
  IdCondition: conditionWith({ type: 'text', isDocumentId: true }),
  NumberCondition: conditionWith({ type: 'number' }),
  BooleanCondition: conditionWith({ type: 'boolean' }),
  TimeCondition: conditionWith({ type: 'datetime' }),
  ListCondition: conditionWith({ type: 'multiSelect' }),
  PresenceCondition: conditionWith({ type: 'json' }),
};

/** Fields with options have conditions of their own. */
function conditionOf(field: Field): ApiSchema {
  if (field.options) return conditionWith(field);
  if (field.isDocumentId) return schemaRef('IdCondition');
  const operators = operatorsOf(field);
  if (operators.includes('contains')) return schemaRef('ListCondition');
  if (field.type === 'number') return schemaRef('NumberCondition');
  if (operators.includes('less_than')) return schemaRef('TimeCondition');
  if (field.type === 'boolean') return schemaRef('BooleanCondition');
  return schemaRef(operators.includes('equals') ? 'TextCondition' : 'PresenceCondition');
}

function conditionWith(field: Pick<Field, 'type' | 'options' | 'isDocumentId'>): ApiSchema {
  const value = operandValue(field);
  const operators = operatorsOf({ ...field, name: '' });
  const schema = conditions(operators.map((operator) => [operator, operandOf(operator, value)]));
  return operators.includes('in') ? { ...schema, description: ofLists } : schema;
}

function conditions(operators: readonly (readonly [Operator, ApiSchema])[]): ApiSchema {
  return { type: 'object', properties: Object.fromEntries(operators), minProperties: 1, additionalProperties: false };
}

function operatorsOf(field: Field): readonly Operator[] {
  return operatorsFor({ steps: [], leaf: leafOf(field, true), field });
}

function operandValue({ type, options, isDocumentId }: Parameters<typeof conditionWith>[0]): ApiSchema {
  if (options) return { type: 'string', enum: options.map(({ value }) => value) };
  if (isDocumentId) return { type: 'string', format: 'uuid' };
  return { type: type === 'number' || type === 'boolean' ? type : 'string' };
}

function operandOf(operator: Operator, value: ApiSchema): ApiSchema {
  switch (operator) {
    case 'exists':
      return { type: 'boolean' };
    case 'like':
      return { type: 'string' };
    case 'equals':
    case 'not_equals':
      return nullable(value);
    case 'in':
    case 'not_in':
      return {
        oneOf: [{ type: 'array', items: nullable(value), maxItems: 200 }, { type: 'string' }],
      };
    case 'contains':
    case 'greater_than':
    case 'less_than':
    case 'greater_than_equal':
    case 'less_than_equal':
      return value;
  }
}

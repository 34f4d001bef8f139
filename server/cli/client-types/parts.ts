import type { Field } from '../../../config/model.ts';
import { type Names, pascal } from './names.ts';
import { comment, declareUnion, literal } from './text.ts';
import { followsDepth, membersOf, partName, type References, type Use, withDepth } from './values.ts';

type Block = NonNullable<Field['blocks']>[number];

/** Where a type stands that is declared once for answers and once for bodies. */
const uses: readonly Use[] = ['answer', 'create'];

/**
 * Names and declares what has types of its own inside a collection or global: options, objects, items of lists and blocks.
 *
 * @param related what a document of another collection is called one level down.
 */
export function declareParts(
  fields: readonly Field[],
  name: string,
  names: Names,
  related: References['related'],
): { references: References; declared: string[] } {
  const named = new Map<Field | Block, string>();
  const nameOf = (one: Field | Block) => named.get(one) as string;
  const references: References = { nameOf, related };
  const declared: string[] = [];

  function visit(fields: readonly Field[], before: string, path: string): void {
    for (const field of fields) {
      const { options, blocks } = field;
      const at = `${path}.${field.name}`;
      const wanted = before + pascal(field.name);
      if (options) visitOptions(field, options, wanted, at);
      else if (blocks) visitBlocks(field, blocks, wanted, at);
      else if (field.fields) visitObject(field, field.fields, wanted, at);
    }
  }

  function visitOptions(field: Field, options: NonNullable<Field['options']>, wanted: string, path: string): void {
    named.set(field, names.take(wanted));
    declare(`The options of \`${path}\`.`, nameOf(field), options);
  }

  function visitObject(field: Field, fields: readonly Field[], wanted: string, path: string): void {
    named.set(field, names.take(wanted, ['', 'Input']));
    visit(fields, nameOf(field), path);
    declareObject(field.type === 'array' ? `An item of \`${path}\`.` : `What is in \`${path}\`.`, field, fields);
  }

  function visitBlocks(field: Field, blocks: readonly Block[], wanted: string, path: string): void {
    named.set(field, names.take(wanted, ['', 'Input', 'Type']));
    for (const block of blocks) {
      named.set(block, names.take(nameOf(field) + pascal(block.slug), ['', 'Input']));
      visit(block.fields, nameOf(block), path);
      declareObject(`A block of \`${path}\`.`, block, block.fields, [`  blockType: ${literal(block.slug)};`]);
    }
    const slugs = blocks.map(({ slug }) => ({ value: slug }));
    declare(`The types of the blocks of \`${path}\`.`, `${nameOf(field)}Type`, slugs);
    for (const use of uses) {
      const parts = blocks.map((block) => partName(nameOf(block), use, followsDepth(block.fields)));
      declared.push(...declareUnion(`export type ${headOf(field, [field], use)}`, parts), '');
    }
  }

  function declare(about: string, name: string, options: readonly { value: string }[]): void {
    const values = options.map(({ value }) => literal(value));
    declared.push(...comment(about), ...declareUnion(`export type ${name}`, values), '');
  }

  function declareObject(
    about: string,
    one: Field | Block,
    fields: readonly Field[],
    own: readonly string[] = [],
  ): void {
    for (const use of uses) {
      const head = headOf(one, fields, use);
      const members = [...own, ...membersOf(fields, use, references)];
      const lines = members.length > 0 ? [`export interface ${head} {`, ...members, '}'] : [emptyType(head)];
      declared.push(...comment(about), ...lines, '');
    }
  }

  function headOf(one: Field | Block, fields: readonly Field[], use: Use): string {
    return use === 'answer' ? withDepth(nameOf(one), fields) : `${nameOf(one)}Input`;
  }

  visit(fields, name, name);
  return { references, declared };
}

function emptyType(head: string): string {
  return `export type ${head} = Record<never, never>;`;
}

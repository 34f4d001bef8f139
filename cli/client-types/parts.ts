import { isList } from '../../config/field-types.ts';
import type { Field } from '../../config/model.ts';
import { type Block, blocksOf, fieldsInside, isNesting, type Part, tagOf } from '../../config/nesting.ts';
import { type Names, pascal } from './names.ts';
import { comment, declareUnion, literal } from './text.ts';
import { followsDepth, membersOf, partName, type References, type TypeUse, withDepth } from './values.ts';

/** A field on the way, the name that its type would have, and its path for people. */
type VisitedField = { field: Field; wanted: string; path: string };

/** The uses of types that are declared once for answers and once for bodies. */
const uses: readonly TypeUse[] = ['answer', 'create'];

/**
 * Names and declares the parts of a collection or global that have their own types: options, objects, items of lists
 * and blocks.
 *
 * @param related gives the name of a document of another collection one level down.
 */
export function declareParts(
  fields: readonly Field[],
  name: string,
  { names, related }: { names: Names; related: References['related'] },
): { references: References; declared: string[] } {
  const named = new Map<Field | Block<Field>, string>();
  const nameOf = (one: Field | Block<Field>) => named.get(one) as string;
  const references: References = { nameOf, related };
  const declared: string[] = [];

  function visit(fields: readonly Field[], before: string, path: string): void {
    for (const field of fields) {
      const visited: VisitedField = { field, wanted: before + pascal(field.name), path: `${path}.${field.name}` };
      const blocks = blocksOf(field);
      if (field.options) visitOptions(field.options, visited);
      else if (blocks.length > 0) visitBlocks(blocks, visited);
      else if (isNesting(field)) visitObject(visited);
    }
  }

  function visitOptions(options: NonNullable<Field['options']>, { field, wanted, path }: VisitedField): void {
    named.set(field, names.take(wanted));
    declare(`The options of \`${path}\`.`, nameOf(field), options);
  }

  function visitObject({ field, wanted, path }: VisitedField): void {
    const fields = fieldsInside(field);
    named.set(field, names.take(wanted, ['', 'Input']));
    visit(fields, nameOf(field), path);
    const about = isList(field) ? `An item of \`${path}\`.` : `The fields of \`${path}\`.`;
    declareObject(about, nameOf(field), { slug: null, fields });
  }

  function visitBlocks(blocks: readonly Block<Field>[], { field, wanted, path }: VisitedField): void {
    named.set(field, names.take(wanted, ['', 'Input', 'Type']));
    for (const block of blocks) {
      named.set(block, names.take(nameOf(field) + pascal(block.slug), ['', 'Input']));
      visit(block.fields, nameOf(block), path);
      declareObject(`A block of \`${path}\`.`, nameOf(block), block);
    }
    const slugs = blocks.map(({ slug }) => ({ value: slug }));
    declare(`The types of the blocks of \`${path}\`.`, `${nameOf(field)}Type`, slugs);
    for (const use of uses) {
      const parts = blocks.map((block) => partName(nameOf(block), use, followsDepth(block.fields)));
      declared.push(...declareUnion(`export type ${headOf(nameOf(field), [field], use)}`, parts), '');
    }
  }

  function declare(about: string, name: string, options: readonly { value: string }[]): void {
    const values = options.map(({ value }) => literal(value));
    declared.push(...comment(about), ...declareUnion(`export type ${name}`, values), '');
  }

  function declareObject(about: string, name: string, part: Part<Field>): void {
    const tags = Object.entries(tagOf(part)).map(([member, slug]) => `  ${member}: ${literal(slug)};`);
    for (const use of uses) {
      const head = headOf(name, part.fields, use);
      const members = [...tags, ...membersOf(part.fields, use, references)];
      const lines =
        members.length > 0
          ? [`export interface ${head} {`, ...members, '}']
          : [`export type ${head} = Record<never, never>;`];
      declared.push(...comment(about), ...lines, '');
    }
  }

  visit(fields, name, name);
  return { references, declared };
}

function headOf(name: string, fields: readonly Field[], use: TypeUse): string {
  return use === 'answer' ? withDepth(name, fields) : `${name}Input`;
}

import type { Collection, Field, Global } from '../../config/model.ts';
import { lineMembers, lineTypes } from './line-types.ts';
import type { Names } from './names.ts';
import { declareParts } from './parts.ts';
import { pathKindsOf, pathsOf } from './paths.ts';
import { comment, declareUnion, literal, memberName, memberUnion } from './text.ts';
import { followsDepth, hasJoins, membersOf, type References, type TypeUse, withDepth } from './values.ts';

/** The needs of every declaration of a file. */
export type DeclarationContext = { names: Names; collections: ReadonlyMap<string, Collection> };

type Target = Collection | Global;

/** Members that the service makes: `unknown` in a body, since the service ignores them there. */
const assigned = ['id', 'createdAt', 'updatedAt'];

/** All types of a collection, in lines. */
export function declareCollection(collection: Collection, context: DeclarationContext): string[] {
  const { slug, fields, auth } = collection;
  const name = nameOf(collection, context);
  const { references, declared } = declareParts(fields, name, { names: context.names, related: relatedIn(context) });
  const written = fields.filter(({ type, isServerMade }) => type !== 'join' && !isServerMade);
  const made = fields.filter((field) => !written.includes(field)).map((field) => field.name);
  const ignored = [...assigned, ...made].map((one) => `  ${memberName(one)}?: unknown;`);
  const password = auth ? ['  password?: string;'] : [];
  const body = (use: TypeUse) => [...membersOf(written, use, references), ...password, ...ignored];
  return [
    ...declareInterface(`A document of \`${slug}\`${atDepth(fields)}.`, withDepth(name, fields), [
      ...assigned.map((one) => `  ${one}: string;`),
      ...lineMembers(collection),
      ...membersOf(fields, 'answer', references),
    ]),
    ...declared,
    ...declareInterface(`The data of a new document of \`${slug}\`.`, `${name}Create`, body('create')),
    ...declareInterface(`The changes of a document of \`${slug}\`.`, `${name}Update`, body('update')),
    ...declarePaths(collection, name, references),
  ];
}

/** All types of a global, in lines. */
export function declareGlobal(global: Global, context: DeclarationContext): string[] {
  const { slug, fields } = global;
  const about = `The global \`${slug}\`${atDepth(fields)}. A field without a default is null before it is written.`;
  const name = nameOf(global, context);
  const { references, declared } = declareParts(fields, name, { names: context.names, related: relatedIn(context) });
  return [
    ...declareInterface(about, withDepth(name, fields), [
      '  createdAt: string | null;',
      '  updatedAt: string | null;',
      ...lineMembers(global),
      ...membersOf(fields, 'global', references),
    ]),
    ...declared,
    ...declareInterface(`The changes of the global \`${slug}\`.`, `${name}Update`, [
      ...membersOf(fields, 'update', references),
      ...assigned.map((one) => `  ${one}?: unknown;`),
    ]),
    ...declareInterface(`The types of \`${slug}\` for a client.`, `${name}Types`, [
      '  depth: number;',
      `  document: ${followsDepth(fields) ? `${name}<this['depth']>` : name};`,
      `  update: ${name}Update;`,
    ]),
  ];
}

function declarePaths(collection: Collection, name: string, { nameOf }: References): string[] {
  const { slug, fields, auth, upload } = collection;
  const paths = pathsOf(collection, (field) => lineTypes[field.name] ?? nameOf(field));
  const pointers = (isList: boolean) => {
    const found = paths.filter((one) => one.relationTo !== undefined && one.isList === isList);
    const lines = found.map(({ path, relationTo = '' }) => `    ${memberName(path)}: ${literal(relationTo)};`);
    return objectType(lines);
  };
  const joins = fields.filter(({ type }) => type === 'join');
  const kinds = Object.entries(pathKindsOf(collection, paths)).flatMap(([kind, found]) =>
    memberUnion(kind, found.length === 0 ? ['never'] : found.map(literal)),
  );
  const joined = joins.map((join) => `    ${memberName(join.name)}: ${literal(join.collection ?? '')};`);
  return [
    ...declareInterface(
      `The paths that lists of \`${slug}\` are filtered by, beside those in related documents.`,
      `${name}Filters`,
      paths.map(({ path, filter }) => `  ${memberName(path)}: ${filter};`),
    ),
    ...comment(`The paths that lists of \`${slug}\` are sorted by, beside those in related documents.`),
    ...declareUnion(
      `export type ${name}Sorts`,
      paths.filter(({ sorts }) => sorts).map(({ path }) => literal(path)),
    ),
    '',
    ...declareInterface(`The types of \`${slug}\` for a client.`, `${name}Types`, [
      `  kind: '${auth ? 'accounts' : upload ? 'files' : 'documents'}';`,
      `  userDepth: ${auth?.depth ?? 0};`,
      '  depth: number;',
      `  document: ${followsDepth(fields) ? `${name}<this['depth']>` : name};`,
      `  create: ${name}Create;`,
      `  update: ${name}Update;`,
      `  filters: ${name}Filters;`,
      `  sorts: ${name}Sorts;`,
      ...kinds,
      `  relations: ${pointers(false)}`,
      `  lists: ${pointers(true)}`,
      `  joins: ${objectType(joined)}`,
    ]),
  ];
}

function objectType(lines: readonly string[]): string {
  return lines.length === 0 ? 'Record<never, never>;' : ['{', ...lines, '  };'].join('\n');
}

function declareInterface(about: string, head: string, members: readonly string[]): string[] {
  return [...comment(about), `export interface ${head} {`, ...members, '}', ''];
}

/** Tells what a document of another collection is called one level down. */
function relatedIn(context: DeclarationContext): (slug: string) => string {
  return (slug) => {
    const collection = context.collections.get(slug) as Collection;
    const name = nameOf(collection, context);
    const joins = hasJoins(collection.fields) ? ', 0' : '';
    return followsDepth(collection.fields) ? `${name}<Below<Depth>${joins}>` : name;
  };
}

function nameOf(target: Target, { names }: DeclarationContext): string {
  return names.of.get(target) as string;
}

function atDepth(fields: readonly Field[]): string {
  return followsDepth(fields) ? '; with a depth, documents replace ids' : '';
}

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are texts of sources
import type { Mutation } from './mutation.ts';

/** Faults of lists and filters: wrong documents, a wrong order, a wrong end. */
export const readingMutations: readonly Mutation[] = [
  {
    what: 'A page behind a cursor lacks the documents that are equal to the last one in all but their id.',
    file: 'projections/query/keyset.ts',
    text: 'any([isBehind(first, value), ties])',
    replacement: 'isBehind(first, value)',
    test: {
      file: 'test/documents/cursors.test.ts',
      name: 'gives each document of the pages once, in order: any sort, direction, nulls, ties, filters, rules',
    },
  },
  {
    what: 'A cursor is taken for a list with another filter.',
    file: 'server/queries/cursors.ts',
    text: 'JSON.stringify([slug, filter, sort, q, select, depth, asOf, ...view])',
    replacement: 'JSON.stringify([slug, sort, q, select, depth, asOf, ...view])',
    test: {
      file: 'test/documents/cursors.test.ts',
      name: 'is of one list: with another collection, sort, filter, select, depth or asOf it is a 400',
    },
  },
  {
    what: 'Two paths through one list are about any two of its items.',
    file: 'projections/query/groups.ts',
    text: 'lists.set(list, alias);',
    replacement: '',
    test: {
      file: 'test/documents/groups.test.ts',
      name: 'are about the same item of blocks, whichever of its types have the field',
    },
  },
  {
    what: 'The thread that groups is sent the rules of the fields, which cannot be sent.',
    file: 'server/documents/groups/routes.ts',
    text: 'keys: query.keys.map(({ steps, leaf, part }) => ({ steps, leaf, part })),',
    replacement: '',
    test: {
      file: 'test/documents/groups.test.ts',
      name: 'are of fields with rules too, if another thread groups them',
    },
  },
  {
    what: 'A cursor shows the values that it holds.',
    file: 'server/queries/cursors.ts',
    text: "const sealed = Buffer.concat([sealing.update(text, 'utf8'), sealing.final()]);",
    replacement: "const sealed = Buffer.concat([Buffer.from(text), sealing.update(text, 'utf8'), sealing.final()]);",
    test: {
      file: 'test/documents/cursors.test.ts',
      name: 'does not tell the values that it holds, and never the same text twice',
    },
  },
  {
    what: 'greater_than_equal leaves out what is equal.',
    file: 'projections/query/where.ts',
    text: '`${text} >= ?`',
    replacement: '`${text} > ?`',
    test: {
      file: 'test/queries/where.test.ts',
      name: 'finds what it means on every type that can carry it, in brackets and as JSON',
    },
  },
  {
    what: 'less_than_equal on createdAt leaves out the documents of its last millisecond.',
    file: 'projections/query/where.ts',
    text: "less_than_equal: { sign: '<', later: 1 }",
    replacement: "less_than_equal: { sign: '<', later: 0 }",
    test: { file: 'test/queries/where.test.ts', name: "serves the server's own fields" },
  },
  {
    what: 'not_equals leaves out documents without a value.',
    file: 'projections/query/where.ts',
    text: '`${text} IS NOT ?`',
    replacement: '`${text} <> ?`',
    test: {
      file: 'test/queries/where.test.ts',
      name: 'finds what it means on every type that can carry it, in brackets and as JSON',
    },
  },
  {
    what: 'in does not find documents without a value by null.',
    file: 'projections/query/where.ts',
    text: "const isNull = present.length < values.length ? `${key ?? text} IS NULL OR ` : '';",
    replacement: "const isNull = '';",
    test: {
      file: 'test/queries/where.test.ts',
      name: 'finds what it means on every type that can carry it, in brackets and as JSON',
    },
  },
  {
    what: 'not_in leaves out documents without a value.',
    file: 'projections/query/where.ts',
    text: '`${text} IS NULL OR`;',
    replacement: "'';",
    test: {
      file: 'test/queries/where.test.ts',
      name: 'finds what it means on every type that can carry it, in brackets and as JSON',
    },
  },
  {
    what: 'like takes % and _ for any letters.',
    file: 'projections/query/where.ts',
    text: '`instr(${folded}, ?) > 0`, values: [fold(String(wanted))]',
    replacement: '`${folded} LIKE ?`, values: [`%${fold(String(wanted))}%`]',
    test: {
      file: 'test/queries/where.test.ts',
      name: 'of like treat % and _ and quotes as text, and fold case as Unicode does',
    },
  },
  {
    what: 'A negation over a list matches if one of its values is another.',
    file: 'projections/query/where.ts',
    text: "if (where.operator === 'not_equals') return { ...where, operator: 'equals' };",
    replacement: '',
    test: {
      file: 'test/queries/where.test.ts',
      name: 'go across relationships: some related document matches, and for a negation none',
    },
  },
  {
    what: 'The last page, if it is full, says that there is another one.',
    file: 'projections/query/lists.ts',
    text: 'hasNext: isMore || found > end }',
    replacement: 'hasNext: isMore || found >= end }',
    test: { file: 'test/documents/lists.test.ts', name: 'counts whole pages when the last one is full' },
  },
  {
    what: 'Documents without a value come first in an ascending list.',
    file: 'projections/query/sort.ts',
    text: "${index === terms.length - 1 ? '' : ' NULLS LAST'}",
    replacement: '',
    test: {
      file: 'test/documents/lists.test.ts',
      name: 'goes up by a name and down by -name, nulls last both times, without regard to case',
    },
  },
  {
    what: 'Documents that are equal in an ascending sort come newest first.',
    file: 'projections/query/sort.ts',
    text: 'const isDescending = (sort[end] ?? sort[0])?.isDescending !== false;',
    replacement: 'const isDescending = true;',
    test: { file: 'test/documents/lists.test.ts', name: 'breaks ties by id in the direction of the first key' },
  },
  {
    what: 'A sort by age and another field forgets the other field.',
    file: 'projections/query/sort.ts',
    text: 'const last = keys.at(-1);',
    replacement: 'const last = keys[0];',
    test: {
      file: 'test/projections/where.property.test.ts',
      name: 'give the same documents in the same order with the same total, in both notations',
    },
  },
  {
    what: 'A list gives any number of documents at once.',
    file: 'server/queries/query.ts',
    text: 'limit: tell(count(pageLimits, ',
    replacement: 'limit: tell(count({ ...pageLimits, most: 100_000 }, ',
    test: { file: 'test/documents/lists.test.ts', name: 'take the default 10 and at most 100' },
  },
  {
    what: 'The parameter limit is not read.',
    file: 'server/queries/query.ts',
    text: 'const { limit, page, depth, count, q } = settle(asked);',
    replacement: 'const { page, depth, count, q } = settle(asked);\n  const limit = 10;',
    test: {
      file: 'test/documents/lists.test.ts',
      name: 'holds the page, newest first, and tells where it stands: first, middle and last page',
    },
  },
  {
    what: 'Figures that are kept stay when a document is written that they lead to.',
    file: 'server/reads/weight.ts',
    text: 'return new Set([tables.key, ...related.flatMap(keysOf)]);',
    replacement: 'return new Set([tables.key, ...related.slice(0, 0).flatMap(keysOf)]);',
    test: {
      file: 'test/reads/reads.test.ts',
      name: 'stays while others are written, and is made anew after a write of any that it goes through',
    },
  },
  {
    what: 'The last page of what a search ranks has none of the documents behind those.',
    file: 'server/reads/ranking.ts',
    text: 'plain.texts.slice(mostRanked - start)',
    replacement: 'plain.texts.slice(plain.texts.length)',
    test: {
      file: 'test/documents/search.test.ts',
      name: 'puts the newest 500 into that order, and has the others behind them',
    },
  },
  {
    what: 'A list that took long names the index of no field that it goes by.',
    file: 'server/documents/read/reading.ts',
    text: 'if (worked >= slowMilliseconds) tellMissing(',
    replacement: 'if (worked < 0) tellMissing(',
    test: {
      file: 'test/reads/reads.test.ts',
      name: 'names the index that it lacked, in its line of the log and to operators',
    },
  },
  {
    what: 'An index is said to be missing that the configuration has.',
    file: 'server/reads/missing-index.ts',
    text: "isIndexed && path.join('.') === field",
    replacement: 'isIndexed && path.length === 0',
    test: {
      file: 'test/reads/missing-list.test.ts',
      name: 'has no longer what the configuration has made good, or has no more',
    },
  },
  {
    what: 'A row is kept that was read while a commit changed it.',
    file: 'projections/query/kept-rows.ts',
    text: 'if (value === null || isOdd(mark) || isApart() || Atomics.load(marks, slot) !== mark) return value;',
    replacement: 'if (value === null || isApart()) return value;',
    test: {
      file: 'test/projections/kept-rows.property.test.ts',
      name: 'are those that the file has at that moment, whatever is committed in between',
    },
  },
  {
    what: 'The threads that read are not told which documents a commit changes.',
    file: 'projections/tables/projector.ts',
    text: 'mark(changed, isErasure, () => commit.run());',
    replacement: 'mark([], isErasure, () => commit.run());',
    test: {
      file: 'test/documents/kept-reads.test.ts',
      name: 'shows each write that was answered, of a document and in lists, in all threads',
    },
  },
  {
    what: 'A list in the order of another collection is kept when that changes.',
    file: 'projections/query/page-key.ts',
    text: "if (sort.some(({ steps }) => steps.some(({ kind }) => kind === 'related'))) return null;",
    replacement: '',
    test: {
      file: 'test/documents/kept-reads.test.ts',
      name: 'is not that of a list that asks for other documents: their changes count',
    },
  },
  {
    what: 'An answer that is sent past hapi does not set the cookie.',
    file: 'server/http/at-once.ts',
    text: 'app.changesCookies === undefined &&',
    replacement: '',
    test: { file: 'test/http/at-once.test.ts', name: 'sets the cookie of a log-in' },
  },
  {
    what: 'A client that has the document is sent it again.',
    file: 'server/http/at-once.ts',
    text: "headers['if-none-match'] === undefined &&",
    replacement: '',
    test: {
      file: 'test/http/at-once.test.ts',
      name: 'is not sent to a client that has the document',
    },
  },
];

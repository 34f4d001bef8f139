import type { Mutation } from './mutation.ts';

const where = 'test/queries/where-rights.test.ts';
const keys = 'test/accounts/keys.test.ts';
const makers = 'test/accounts/key-makers.test.ts';

/** Faults of rights: what rules, scopes and audit rights keep from callers. */
export const accessMutations: readonly Mutation[] = [
  {
    what: 'A document is read by its id, whatever the rule says.',
    file: 'server/access/document-access.ts',
    text: "await authorize(call, 'read', { doc: () => JSON.parse(stored.text), data: null });",
    replacement: '',
    test: { file: where, name: 'hold for single documents, and for what is done to them' },
  },
  {
    what: 'A list shows documents that do not meet the condition of the rule.',
    file: 'server/access/list-scope.ts',
    text: 'return { where: verdict, row: null };',
    replacement: 'return everything;',
    test: { file: where, name: 'show only the documents that meet it, with right totals and pages' },
  },
  {
    what: 'The filter of a caller widens what the rule shows.',
    file: 'server/documents/read/listing.ts',
    text: 'return one && other ? { and: [one, other] } : (one ?? other);',
    replacement: 'return one && other ? { or: [one, other] } : (one ?? other);',
    test: { file: where, name: 'are ANDed with the query, which cannot widen them' },
  },
  {
    what: 'An answer with depth holds documents that the caller may not read.',
    file: 'server/documents/read/populate.ts',
    text: '(await someOf(call, { ids, where: scope.where, only }))',
    replacement: '(await someOf(call, { ids, where: null, only }))',
    test: {
      file: 'test/documents/depth.test.ts',
      name: 'are those that the caller may not read: no rule, a no, one that throws, a where, one that looks',
    },
  },
  {
    what: 'A filter goes over a relationship to documents that the caller may not read.',
    file: 'server/access/list-scope.ts',
    text: 'filter: scope.where };',
    replacement: 'filter: null };',
    test: { file: where, name: 'hold across a relationship: what may not be seen cannot be found by' },
  },
  {
    what: 'A list is filtered and sorted by fields that the caller may read in some documents only.',
    file: 'server/access/field-access.ts',
    text: 'isAllowed && !hasLooked',
    replacement: 'isAllowed || hasLooked',
    test: {
      file: where,
      name: 'is refused as if it did not exist, in filters and sorts, nested and across relationships',
    },
  },
  {
    what: 'A search finds by the words of fields that the caller may not read.',
    file: 'server/documents/search/searching.ts',
    text: 'return searched.filter(({ path }) => fieldsOn(readable, path).length > 0);',
    replacement: 'return searched;',
    test: {
      file: 'test/documents/search.test.ts',
      name: 'neither finds nor shows by fields and documents that the caller may not read',
    },
  },
  {
    what: 'Figures are made of a value that a hook hides.',
    file: 'server/access/list-scope.ts',
    text: 'withoutHooks(await filterableFields(call));',
    replacement: '[...(await filterableFields(call))];',
    test: {
      file: 'test/documents/groups.test.ts',
      name: 'are refused by a field that the caller may not read in each document, or that a hook makes',
    },
  },
  {
    what: 'A rule that throws admits to the documents of a list.',
    file: 'server/access/access.ts',
    text: "admits(call, unlessRefused(verdict, 'refused'), subject)",
    replacement: "admits(call, unlessRefused(verdict, 'allowed'), subject)",
    test: {
      file: 'test/access/access.test.ts',
      name: 'leaves documents out of a list over which it throws, and the list goes on',
    },
  },
  {
    what: 'A field is shown to callers whom its rule refuses.',
    file: 'server/access/field-access.ts',
    text: 'if (access?.read && !(await passes(access.read, one))) return undefined;',
    replacement: 'if (access?.read && !(await passes(access.read, one))) return value;',
    test: {
      file: 'test/documents/hooks.test.ts',
      name: 'leaves out what the caller may not read, at any depth, in documents and lists',
    },
  },
  {
    what: 'A field is written by callers whom its rule refuses.',
    file: 'server/access/field-access.ts',
    text: 'if (refused.length === 0) return;',
    replacement: 'if (refused.length >= 0) return;',
    test: {
      file: 'test/documents/hooks.test.ts',
      name: 'refuses what the caller may not write with a 403 naming it',
    },
  },
  {
    what: 'The rule of a field for updates is that for creates.',
    file: 'server/access/field-access.ts',
    text: 'const rule = access?.[operation];',
    replacement: 'const rule = access?.create;',
    test: {
      file: 'test/documents/restore.test.ts',
      name: 'needs the right to change it, and the right to see what it was',
    },
  },
  {
    what: 'The answer to a write shows the whole document to a caller who may not read it.',
    file: 'server/documents/write/written.ts',
    text: 'if (isReadable) return text;',
    replacement: 'return text;',
    test: {
      file: 'test/access/hidden-values.test.ts',
      name: 'has the id, the times and what was sent for a caller who may not read the document',
    },
  },
  {
    what: 'Callers without a credential learn by a 404 which documents there are.',
    file: 'server/access/document-access.ts',
    text: "if (actorOf(request).type === 'anonymous') {",
    replacement: "if (actorOf(request).type === 'system') {",
    test: { file: 'test/access/access.test.ts', name: 'is not told to anonymous callers of closed collections' },
  },
  {
    what: 'The history shows payloads to callers who have the right to headers alone.',
    file: 'server/access/rights.ts',
    text: "if (!has('payloads') || (isKey && isClosedToKeys(app, stream))) return 'none';",
    replacement: "if (isKey && isClosedToKeys(app, stream)) return 'none';",
    test: {
      file: 'test/audit/history-routes.test.ts',
      name: 'is told with the headers alone neither reasons nor fields, nor anything that an event holds',
    },
  },
  {
    what: 'The history shows a key the payloads of accounts that are closed to it.',
    file: 'server/access/rights.ts',
    text: "if (!has('payloads') || (isKey && isClosedToKeys(app, stream))) return 'none';",
    replacement: "if (!has('payloads')) return 'none';",
    test: {
      file: 'test/audit/history-routes.test.ts',
      name: 'of an account tells what happened; to a key without what that held',
    },
  },
  {
    what: 'An audit rule that throws gives every right to the history.',
    file: 'server/access/rights.ts',
    text: `'the audit rule failed: it admits no caller');
    return none;`,
    replacement: `'the audit rule failed: it admits no caller');
    return every;`,
    test: {
      file: 'test/audit/history-routes.test.ts',
      name: 'is every caller while the rule throws, or answers with something that is no right',
    },
  },
  {
    what: 'The history shows a user the payloads of documents that their rules hide.',
    file: 'server/access/sight.ts',
    text: 'if (document && !(await mayRead(call, document))) return { states: [], hasDrafts: false };',
    replacement: '',
    test: {
      file: 'test/audit/by-rules.test.ts',
      name: 'shows no user of the admin collection what read and field rules refuse today, by whatever route',
    },
  },
  {
    what: 'The history shows a user drafts that the rule readDrafts hides.',
    file: 'server/access/sight.ts',
    text: 'if (!hasDrafts && isDraftOnly(header.type)) return',
    replacement: 'if (false) return',
    test: {
      file: 'test/audit/drafts.test.ts',
      name: 'shows a caller without readDrafts nothing that was never public, by whatever route',
    },
  },
  {
    what: 'The history shows fields that the caller may not read.',
    file: 'server/access/field-access.ts',
    text: 'for (const one of args) if (access?.read && !(await passes(access.read, one))) return false;',
    replacement: '',
    test: {
      file: 'test/audit/by-rules.test.ts',
      name: 'leaves refused fields out of versions, events, differences and blame, at any depth',
    },
  },
  {
    what: 'A key does to its collections what none of its scopes holds.',
    file: 'server/access/key-scopes.ts',
    text: "return held.includes(operation) && (names === '*' || names.includes(name));",
    replacement: "return names === '*' || names.includes(name);",
    test: { file: keys, name: 'hold each operation on each collection and global by itself' },
  },
  {
    what: 'A key sees the payloads of streams outside its scopes.',
    file: 'server/access/rights.ts',
    text: "return key === null || readsStream(key.scopes, stream) ? right : 'none';",
    replacement: 'return right;',
    test: { file: keys, name: 'is what its audit scopes say, with payloads only within its scopes' },
  },
  {
    what: 'A user gives a key a right that a rule gives them in some documents only.',
    file: 'server/access/key-grants.ts',
    text: 'if (answer === true && !hasLooked) return null;',
    replacement: 'if (answer === true) return null;',
    test: { file: makers, name: 'gives it no right that they do not have, or that no rule can tell in advance' },
  },
  {
    what: 'A key that was made at run time makes others.',
    file: 'server/access/key-management.ts',
    text: "if (madeKeyOf(request)) throw refusal('no API key that was made here may');",
    replacement: '',
    test: {
      file: keys,
      name: 'is for users of __admins and the key of the environment, and never for a key that was made',
    },
  },
  {
    what: 'A search in all collections shows documents that a rule hides which looks at each of them, where an index finds them.',
    file: 'server/documents/search/routes.ts',
    text: 'perform(read, { count, groups, list:',
    replacement: 'perform(read, { ...call.target.documents, count, groups, list:',
    test: {
      file: 'test/documents/search.test.ts',
      name: 'neither finds nor shows by fields and documents that the caller may not read',
    },
  },
];

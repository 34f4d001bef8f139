// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are texts of sources
import type { Mutation } from './mutation.ts';

const webhooks = 'test/webhooks/webhooks.test.ts';
const deliveries = 'test/webhooks/deliveries.test.ts';
const inspecting = 'test/files/inspection/inspect.test.ts';

/** Faults at the borders: files, webhooks, backups; and of the start. */
export const outsideMutations: readonly Mutation[] = [
  {
    what: 'The signature of a webhook does not cover the id, so that a message is taken twice.',
    file: 'server/webhooks/messages.ts',
    text: '`${id}.${timestamp}.${body}`',
    replacement: '`${timestamp}.${body}`',
    test: { file: webhooks, name: 'gets a signed message without content for each change of documents and globals' },
  },
  {
    what: 'A later change of a document is delivered while an earlier one waits for its next attempt.',
    file: 'server/webhooks/delivery-tables.ts',
    text: ') THEN NULL ELSE :now END, :giveUpAt`,',
    replacement: ') THEN :now ELSE :now END, :giveUpAt`,',
    test: { file: deliveries, name: 'are due one after the other, in order, and those of others meanwhile' },
  },
  {
    what: 'A later change of a document is delivered before an earlier one that was parked and is made again.',
    file: 'server/webhooks/deliveries.ts',
    text: 'else holdBackLater(sql, one);',
    replacement: '',
    test: {
      file: deliveries,
      name: 'are due again from the earliest on once a parked one is retried, despite a later one under way',
    },
  },
  {
    what: 'The changes behind a delivery that was made are never delivered.',
    file: 'server/webhooks/deliveries.ts',
    text: 'sql.setDelivered.run({ webhook, at });\n  releaseFirst(sql, one, at);',
    replacement: 'sql.setDelivered.run({ webhook, at });',
    test: { file: deliveries, name: 'are due one after the other, in order, and those of others meanwhile' },
  },
  {
    what: 'A delivery that fails is given up at once.',
    file: 'server/webhooks/dispatcher.ts',
    text: 'at >= giveUpAt ? null :',
    replacement: 'at < giveUpAt ? null :',
    test: { file: deliveries, name: 'is repeated for three days, and then its delivery is parked' },
  },
  {
    what: 'A delivery that fails is tried for ever.',
    file: 'server/webhooks/dispatcher.ts',
    text: 'at >= giveUpAt ? null :',
    replacement: '',
    test: { file: deliveries, name: 'is repeated for three days, and then its delivery is parked' },
  },
  {
    what: 'A webhook reaches addresses of the network inside.',
    file: 'server/platform/public-addresses.ts',
    text: 'if (isIP(host) !== 0 && !isPublic(host)) throw new PrivateAddressError();',
    replacement: '',
    test: {
      file: 'test/platform/public-addresses.test.ts',
      name: 'are required of a URL however it writes an address',
    },
  },
  {
    what: 'A webhook reaches addresses of the network inside by a name that has one.',
    file: 'server/platform/public-addresses.ts',
    text: '!first || found.some(({ address }) => !isPublic(address))',
    replacement: '!first',
    test: {
      file: 'test/platform/public-addresses.test.ts',
      name: 'are the only ones that a socket gets for a name',
    },
  },
  {
    what: 'A cell of an exported table is a formula.',
    file: 'server/audit/exports/csv.ts',
    text: 'const start = isFormula(text) ||',
    replacement: 'const start =',
    test: {
      file: 'test/audit/exports/csv.test.ts',
      name: 'puts an apostrophe before the others, also if white space, quotes or look-alikes hide them',
    },
  },
  {
    what: 'A file is what its client says it is.',
    file: 'server/files/inspection/inspect.ts',
    text: "const mimeType = signature ?? (text.isWhole() ? 'text/plain' : 'application/octet-stream');",
    replacement: "const mimeType = signature ?? 'text/plain';",
    test: { file: inspecting, name: 'is application/octet-stream for the rest' },
  },
  {
    what: 'HTML that has the signature of an image is an image.',
    file: 'server/files/inspection/inspect.ts',
    text: 'if (markup !== null) return markup;',
    replacement: '',
    test: { file: inspecting, name: 'is text/html for what a browser would take for it' },
  },
  {
    what: 'A collection takes files of types that it does not allow.',
    file: 'server/files/inspection/inspect.ts',
    text: 'if (isAllowed(mimeType, mimeTypes)) return;',
    replacement: 'if (isAllowed(mimeType, null)) return;',
    test: { file: inspecting, name: 'is a type that is not allowed, by what the bytes are' },
  },
  {
    what: 'A file may be larger than its collection takes.',
    file: 'server/files/inspection/inspect.ts',
    text: 'if (size > maxFileSize) throw fileTooLarge(maxFileSize);',
    replacement: '',
    test: { file: inspecting, name: 'is the byte that passes the limit' },
  },
  {
    what: 'The name of a file leads to another folder.',
    file: 'server/files/uploads/filenames.ts',
    text: "given.slice(Math.max(given.lastIndexOf('/'), given.lastIndexOf('\\\\')) + 1);",
    replacement: "given.slice(given.lastIndexOf('/') + 1);",
    test: {
      file: 'test/files/uploads/filenames.test.ts',
      name: 'is the last part of a path, of whatever system',
    },
  },
  {
    what: 'An SVG runs its scripts in the origin of the service.',
    file: 'server/documents/media/serving.ts',
    text: "disposition: 'inline', policy: sandbox };",
    replacement: "disposition: 'inline', policy: null };",
    test: {
      file: 'test/documents/media/serving.test.ts',
      name: 'lets nothing run in what could: HTML and every XML',
    },
  },
  {
    what: 'A file is given to callers who may not read its document.',
    file: 'server/documents/media/routes.ts',
    text: 'const { text } = await readableDocument({ app, request, target });',
    replacement: "const text = target.documents.text(idOf(request)) ?? '{}';",
    test: { file: 'test/documents/media/media.test.ts', name: 'is that to the document' },
  },
  {
    what: 'The collector removes files that documents name.',
    file: 'server/files/blobs/collector.ts',
    text: 'if (isNamed(position, candidate)) return false;',
    replacement: '',
    test: {
      file: 'test/files/blobs/collector.test.ts',
      name: 'never removes what an event names, and leaves nothing that none does, whatever comes in between',
    },
  },
  {
    what: 'A backup is made of a log that is not sound.',
    file: 'cli/backup/making.ts',
    text: 'if (finding !== null) throw new UnsoundError(finding);',
    replacement: '',
    test: { file: 'test/cli/backup.test.ts', name: 'save no log that annals verify finds unsound' },
  },
  {
    what: 'A backup that its place has kept otherwise than it was sent is taken for made.',
    file: 'cli/backup/segment-objects.ts',
    text: 'if (stored ? (await digestOf(stored)) === sha256 : await mayBeGone?.()) return;',
    replacement: 'if (stored || (await mayBeGone?.())) return;',
    test: {
      file: 'test/cli/backup-sending.test.ts',
      name: 'is read back, and is not left there if it is not what was sent',
    },
  },
  {
    what: 'A backup that was altered is restored.',
    file: 'cli/backup/archive.ts',
    text: 'if (wrong) throw',
    replacement: "if (wrong === '') throw",
    test: {
      file: 'test/cli/backup.test.ts',
      name: 'refuse a file that is cut off or altered, and leave nothing that could be started',
    },
  },
  {
    what: 'A list of erasures that was altered is believed.',
    file: 'cli/backup/erasures-file.ts',
    text: 'if (opened.text !== textOf(own, Number(size), list))',
    replacement: "if (opened.text === '')",
    test: { file: 'test/cli/backup.test.ts', name: 'refuses a list of erasures that was altered' },
  },
  {
    what: 'A restore of a backup brings back what was erased after it.',
    file: 'cli/backup/restore.ts',
    text: 'const listed = known.flatMap(({ erasures }) => erasures).filter((one) => one.position > size);',
    replacement: 'const listed = known.flatMap(() => []);',
    test: { file: 'test/cli/backup.test.ts', name: 'is restored from its newest, without what was erased after that' },
  },
  {
    what: 'A checkout starts from a bundle of sources that were changed since.',
    file: 'runtime/bundle.js',
    text: ' && found.mtimeMs === time',
    replacement: '',
    test: {
      file: 'test/runtime/bundle.test.ts',
      name: 'starts from the sources if a source has other text of the same length',
    },
  },
  {
    what: 'A thread that checks no body loads joi for it.',
    file: 'config/fields.ts',
    text: "import { joi } from './joi.ts';",
    replacement: "import 'joi';\nimport { joi } from './joi.ts';",
    test: { file: 'test/config/joi.test.ts', name: 'loads joi for the first body that it checks, and not before' },
  },
];

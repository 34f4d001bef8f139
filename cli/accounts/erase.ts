import { createInterface } from 'node:readline';
import { counted } from '../../config/counted.ts';
import { isObject } from '../../config/schema.ts';
import { show } from '../../config/suggest.ts';
import type { CommandLine } from '../../server/settings/command.ts';
import { UsageError } from '../../server/settings/settings.ts';
import { configured } from '../data-directory.ts';
import { Cancelled } from '../errors.ts';
import { callAsOperator, type OperatorAnswer, reportAnswer, reportRefusal } from '../operator-connection.ts';

/** `annals erase COLLECTION/ID`: exit 0 done, 1 refused, 2 could not run. Prints what was erased. */
export async function erase({
  settings,
  flags,
  words,
}: CommandLine<{ reason: 'string'; 'dry-run': 'boolean'; yes: 'boolean' }>): Promise<number> {
  const [word = ''] = words;
  const [, collection = '', id = ''] = /^([^/]+)\/([^/]+)$/.exec(word) ?? [];
  if (id === '')
    throw new UsageError(`COLLECTION/ID must be like posts/01a201cb-6f8a-7000-8653-d15f22ac836c, got ${show(word)}`);
  if (flags.reason === undefined) throw new UsageError('--reason is missing: the log keeps why something was erased');
  const own = await configured(settings);
  const body = { collection, id, reason: flags.reason };
  const call = (query: string) => callAsOperator(own, { path: `/api/audit/erasures${query}`, body });

  if (flags['dry-run'] || (!flags.yes && process.stdin.isTTY)) {
    const preview = await call('?dryRun=true');
    if (preview.status >= 300) return reportRefusal(preview);
    process.stdout.write(`would erase ${collection}/${id}: ${amounts(preview.body)}\n`);
    if (flags['dry-run']) return 0;
    await confirm('This cannot be undone. Erase it? [y/N] ');
  }
  return reportAnswer(await call(''), (body) => praise(collection, id, body));
}

function praise(collection: string, id: string, body: OperatorAnswer['body']): string {
  const done = `erased ${collection}/${id}: ${amounts(body)}; it is event ${String(body.position)}`;
  if (body.finished === true) return done;
  return `${done}
not finished: a store, a reader or another node is in the way. The service retries while it runs, and after its next start`;
}

const nouns: [name: string, one: string, many: string][] = [
  ['versions', 'version', 'versions'],
  ['accountEvents', 'event of its account', 'events of its account'],
  ['invitations', 'invitation', 'invitations'],
  ['files', 'stored file', 'stored files'],
  ['mails', 'mail', 'mails'],
];

function amounts({ erases }: OperatorAnswer['body']): string {
  const counts = isObject(erases) ? erases : {};
  const parts = nouns.flatMap(([name, one, many]) => {
    const count = Number(counts[name]);
    return count > 0 ? [counted(count, one, many)] : [];
  });
  const kept = Number(counts.filesKept);
  const others = kept > 0 ? `; kept for other documents: ${counted(kept, 'stored file')}` : '';
  return parts.join(', ') + others;
}

/** @throws Cancelled for anything but a yes. */
async function confirm(question: string): Promise<void> {
  const reader = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await new Promise<string>((resolve) => {
      reader.once('close', () => resolve(''));
      reader.question(question, resolve);
    });
    if (!/^\s*y(es)?\s*$/i.test(answer)) throw new Cancelled('cancelled; nothing was erased');
  } finally {
    reader.close();
  }
}

import { documentStream } from '../../events/facts/catalogue.ts';
import { decideCreate, decideDelete, decideUpdate, type foldDocument } from '../../events/facts/documents.ts';
import type { Change, Command } from '../../events/facts/log.ts';
import { below, oneOf } from './power-cut.ts';

type Document = NonNullable<ReturnType<typeof foldDocument>>;

/** A document of a run. All texts in it contain its mark; `document`: null once it is deleted. */
export type Told = { id: string; stream: string; mark: string; version: number; document: Document | null };

/** A command, with the outcome that it is to have; `failed`: the disk let it alone fail. */
export type Planned = { command: Command; outcome: 'ok' | 'version' | 'claim' | 'failed' };

/** The collection that the commands are about. */
export type Target = Parameters<typeof decideCreate>[0];

/**
 * The surroundings of a plan: documents that it makes are added to these. `erased`: the marks of those that were
 * erased.
 */
export type Planning = {
  random: () => number;
  now: () => number;
  documents: Told[];
  erased: ReadonlySet<string>;
};

/** Plans a batch: creates, changes and deletes, some of which are to be refused; first an erasure, if one is wanted. */
export function planBatch(planning: Planning, target: Target, wantsErasure: boolean): Planned[] {
  const { random, documents } = planning;
  const erasure = wantsErasure ? planErasure(planning) : null;
  const planned = erasure ? [erasure] : [];
  const touched = new Set(planned.map(({ command }) => command.stream));
  const most = 1 + below(random, oneOf(random, [1, 3, 8]));
  while (planned.length < most) {
    const told = random() < 0.6 && documents.length > 0 ? oneOf(random, documents) : null;
    const change = told && !touched.has(told.stream) ? planChange(planning, target, told) : null;
    if (told) touched.add(told.stream);
    planned.push(change ?? planCreate(planning, target));
  }
  return planned;
}

function planOf(change: Change, outcome: Planned['outcome'] = 'ok', erases?: string[]): Planned {
  const command = { ...change, actor: { type: 'system' as const }, correlationId: 'simulated', context: {} };
  return { command: erases ? { ...command, erases } : command, outcome };
}

function planCreate({ random, now, documents }: Planning, target: Target): Planned {
  const number = documents.length + 1;
  const [id, mark] = [`id-${number}`, `mark${number}z`];
  documents.push({ id, stream: documentStream(target.category, id), mark, version: 0, document: null });
  return planOf(decideCreate(target, id, { at: now(), values: { title: mark, text: textOf(random, mark) } }));
}

/** A command about the present state of a document; null if the document is gone, or was never recorded. */
function planChange({ random, now }: Planning, target: Target, told: Told): Planned | null {
  const { id, mark, version, document } = told;
  if (document === null || version === 0) return null;
  const current = { version, document };
  const dice = random();
  if (dice < 0.1) return planOf(decideDelete(target, id, current));
  if (dice < 0.3 && dice >= 0.2)
    return planOf(decideCreate(target, `twin-of-${id}`, { at: now(), values: { title: mark, text: '' } }), 'claim');
  const isStale = dice < 0.2;
  const known = isStale ? { ...current, version: version + 1 } : current;
  const change = decideUpdate(target, id, { current: known, values: { text: textOf(random, mark) }, at: now() });
  return change && planOf(change, isStale ? 'version' : 'ok');
}

function planErasure({ random, documents, erased }: Planning): Planned | null {
  const those = documents.filter(({ version, mark }) => version > 0 && !erased.has(mark));
  if (those.length === 0) return null;
  const { stream, version } = oneOf(random, those);
  const events = [{ type: 'document.erased' as const, data: { streams: [{ stream, versions: version }] } }];
  return planOf({ stream, expectedVersion: version, events, claims: [], releases: [] }, 'ok', [stream]);
}

/** A text of some bytes, or of many: those of some pages. */
function textOf(random: () => number, mark: string): string {
  const most = oneOf(random, [1, 1, 4, 20, 700]);
  return Array.from({ length: 1 + below(random, most) }, (_, at) => `${mark} ${at}`).join(' ');
}

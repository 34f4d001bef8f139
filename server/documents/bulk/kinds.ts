import type { Collection } from '../../../config/model.ts';
import type { BulkKind } from '../../../events/facts/envelope.ts';
import { refuse } from '../../access/access.ts';
import { inView } from '../../access/draft-view.ts';
import type { Right } from '../../access/rules.ts';
import type { Call, Target } from '../../app.ts';
import { isDraftAsked } from '../drafts/asking.ts';
import { type LineSteps, stepsOf } from '../drafts/line-steps.ts';
import { publication } from '../drafts/publishing.ts';
import { discarding, unpublication } from '../drafts/withdrawing.ts';
import type { Write, WrittenLines } from '../write/write-steps.ts';

/** The kinds of calls that change documents which exist. */
export type ChangeKind = Extract<BulkKind, 'update' | 'delete' | 'publish' | 'unpublish' | 'discard'>;

/** How a kind of call writes each of its documents. */
type KindOfChange = {
  operation: Write['operation'];
  right: Right;
  /** The lines that it is about, where that does not depend on the parameter `draft`, and its steps. */
  ofLines: { lines: WrittenLines; steps: LineSteps } | null;
};

const kinds: Record<ChangeKind, KindOfChange> = {
  update: { operation: 'update', right: 'update', ofLines: null },
  delete: { operation: 'delete', right: 'delete', ofLines: null },
  publish: {
    operation: 'update',
    right: 'publish',
    ofLines: { lines: { addressed: 'draft', answered: 'public', right: 'publish' }, steps: publication },
  },
  unpublish: {
    operation: 'update',
    right: 'publish',
    ofLines: { lines: { addressed: 'public', answered: 'draft', right: 'publish' }, steps: unpublication },
  },
  discard: {
    operation: 'update',
    right: 'update',
    ofLines: { lines: { addressed: 'draft', answered: 'draft', right: 'update' }, steps: discarding },
  },
};

/** How a call writes each of its documents: the kind of its writes, and whether it is about drafts. */
export type BulkWay = Omit<KindOfChange, 'ofLines'> & {
  kind: ChangeKind;
  isDraft: boolean;
  lines: WrittenLines | null;
  stepsFor: (write: Write) => LineSteps;
};

/** How a call changes documents. */
export function wayOf(call: Pick<Call, 'request' | 'target'>, kind: ChangeKind): BulkWay {
  const { operation, right, ofLines } = kinds[kind];
  const isDraft = ofLines ? ofLines.lines.addressed === 'draft' : isDraftAsked(call);
  return {
    kind,
    operation,
    right,
    isDraft,
    lines: ofLines?.lines ?? null,
    stepsFor: (write) => ofLines?.steps ?? stepsOf(write),
  };
}

/**
 * The target in which documents are found by their content: in the view of drafts, if a call is about these.
 *
 * @throws DomainError `unauthorized` or `forbidden` for a caller who may read no draft.
 */
export async function targetToSearch(call: Call<Collection>, isDraft: boolean): Promise<Target<Collection>> {
  const { app, request, target } = call;
  if (!isDraft) return target;
  request.app.view ??= new Map();
  const found = await inView({ app, request }, target);
  return found.view ? found : refuse(call, 'readDrafts', true);
}

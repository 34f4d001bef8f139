import { type ErrorCode, errorCodes } from '../../../config/error-codes.ts';
import { type FieldErrorCode, fieldErrorCodes } from '../../../config/field-error-codes.ts';
import { globalsCategory } from '../../../config/schema.ts';
import type { ReleaseItem, ReleaseProblem } from '../../../events/facts/releases.ts';
import type { ReleaseRecord } from '../../../projections/tables/releases.ts';
import { mayRead } from '../../access/access.ts';
import type { App, Call, RouteCall, Target } from '../../app.ts';
import type { AnswerOf } from '../../openapi/answers.ts';
import { maySee } from '../drafts/rights.ts';
import { type Showable, showableIn, titleOf } from '../search/titles.ts';
import type { FoundRelease } from './finding.ts';
import { documentOf, forEachItem, type ItemDocument } from './items.ts';

type ReleaseView = AnswerOf<'Release'>;
type ItemView = ReleaseView['items'][number];
type ListedView = AnswerOf<'Releases'>['docs'][number];

/** A release as lists show it. */
export function listedView({ releases }: App, release: ReleaseRecord): ListedView {
  return { ...commonView(release), itemCount: releases.size(release.id) };
}

/** A release as its own answers show it. */
export async function releaseView(call: RouteCall, release: FoundRelease): Promise<ReleaseView> {
  const items: ItemView[] = [];
  const showable = new Map<Target, Showable>();
  await forEachItem(release.items, async (item) => {
    items.push(await itemView(call, item, { release, showable }));
  });
  return { ...commonView(release), items };
}

function commonView(release: ReleaseRecord): Omit<ListedView, 'itemCount'> {
  const { id, title, description, state, time, createdAt, createdBy, scheduledBy, publishedAt, batch, version } =
    release;
  return {
    id,
    title,
    description,
    state,
    at: timeText(time?.at ?? null),
    timeZone: time?.timeZone ?? null,
    createdAt: new Date(createdAt).toISOString(),
    createdBy: { ...createdBy },
    scheduledBy: scheduledBy && { ...scheduledBy },
    publishedAt: timeText(publishedAt),
    batch,
    version,
  };
}

type Showing = { release: FoundRelease; showable: Map<Target, Showable> };

async function itemView(call: RouteCall, item: ReleaseItem, { release, showable }: Showing): Promise<ItemView> {
  const { app, request } = call;
  const { category, id, action, version } = item;
  const found = documentOf(app, item);
  const problems = release.problems
    .filter((problem) => problem.category === category && problem.id === id)
    .map(({ field, code }) => problemView(field ?? '', code));
  if (!found && release.state !== 'published') problems.push(problemView('', 'reference_not_found'));
  const shown = {
    action,
    version,
    newest: found?.now.versions.draft ?? null,
    title: found && (await titleIn({ app, request, target: found.target }, found, showable)),
    problems,
  };
  return category === globalsCategory
    ? { global: id, ...shown }
    : { collection: app.names.slugFor(category), id, ...shown };
}

/** The meaning of a code stands for the message: what is recorded of a problem has no values of documents. */
function problemView(field: string, code: ReleaseProblem['code']): ItemView['problems'][number] {
  const message =
    fieldErrorCodes[code as FieldErrorCode] ?? errorCodes[code as ErrorCode] ?? 'The document cannot be published.';
  return { field, code, message };
}

/** The title of the newest state of a document that the caller may read; null if the caller may read neither line. */
async function titleIn(call: Call, { id, now }: ItemDocument, showable: Map<Target, Showable>): Promise<string | null> {
  const { target } = call;
  const { draft, published } = now;
  const isDraftSeen = draft && (await maySee(call, 'draft', target.documentOf(id, draft)));
  const isPublicSeen = published && (await mayRead(call, target.documentOf(id, published)));
  const seen = isDraftSeen ? draft : isPublicSeen ? published : null;
  if (!seen) return null;
  const isShowable = showable.get(target) ?? (await showableIn(call));
  showable.set(target, isShowable);
  return titleOf(target, target.documentOf(id, seen), isShowable);
}

function timeText(time: number | null): string | null {
  return time === null ? null : new Date(time).toISOString();
}

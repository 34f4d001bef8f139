/** The values of a document: two fields, so that one may differ where the other does not. */
export type Values = { a: string | null; b: string | null };

/** Both lines of a document as the table of requests in docs/drafts.md has them. */
export type State = { published: Values | null; draft: Values | null; last: Values | null };

/** A request about the document. */
export type Step =
  | { do: 'update'; isDraft: boolean; set: Partial<Values> }
  | { do: 'remove'; isDraft: boolean }
  | { do: 'publish'; set: Partial<Values> | null; version: number | null }
  | { do: 'unpublish' | 'discard' }
  | { do: 'restore'; isDraft: boolean; version: number };

/** The outcome of a step: the status, and the state after each event that it records. */
export type Outcome = { status: number; states: State[] };

const names = ['a', 'b'] as const;
const none: State = { published: null, draft: null, last: null };

function isSame(one: Values | null, other: Values | null): boolean {
  if (one === null || other === null) return one === other;
  return names.every((name) => one[name] === other[name]);
}

function differing(published: Values | null, draft: Values) {
  return names.filter((name) => published === null || published[name] !== draft[name]);
}

/** New public values; the draft follows in the fields in which it did not differ. */
function withPublic({ published: before, draft }: State, published: Values): State {
  const followed = draft && { ...draft };
  if (before && followed) for (const name of names) if (draft[name] === before[name]) followed[name] = published[name];
  return { published, draft: followed ?? published, last: published };
}

/** The outcome of a request about a document. @param history the state at each version, from version 1. */
export function stepped(history: readonly State[], step: Step): Outcome {
  const now = history.at(-1) ?? none;
  const recorded = (...states: State[]): Outcome => {
    let before = now;
    const changes = states.filter((state) => {
      const isChange = !isSame(before.published, state.published) || !isSame(before.draft, state.draft);
      before = state;
      return isChange;
    });
    return { status: 200, states: changes };
  };
  const refused = (status: number): Outcome => ({ status, states: [] });
  const { published, draft } = now;
  if (step.do === 'restore') return restored(history, step, { now, recorded, refused });
  if (!draft) return refused(404);
  switch (step.do) {
    case 'update':
      if (step.isDraft) return recorded({ ...now, draft: { ...draft, ...step.set } });
      return published ? recorded(withPublic(now, { ...published, ...step.set })) : refused(404);
    case 'remove':
      return published || step.isDraft ? recorded(none) : refused(404);
    case 'unpublish':
      return published ? recorded({ ...now, published: null }) : refused(409);
    case 'discard': {
      const to = published ?? now.last;
      return to ? recorded({ ...now, draft: to }) : refused(409);
    }
    case 'publish':
      return publishedBy(history, step, { now, recorded, refused });
  }
}

type Tools = {
  now: State;
  recorded: (...states: State[]) => Outcome;
  refused: (status: number) => Outcome;
};

function publishedBy(
  history: readonly State[],
  { set, version }: Extract<Step, { do: 'publish' }>,
  { now, recorded, refused }: Tools,
): Outcome {
  const saved = { ...now, draft: now.draft && { ...now.draft, ...set } };
  const source = version === null ? saved : history[version - 1];
  if (!source?.draft) return refused(400);
  const base = saved.published ?? source.draft;
  const values = { ...base };
  for (const name of differing(source.published, source.draft)) values[name] = source.draft[name];
  return recorded(saved, withPublic(saved, values));
}

function restored(
  history: readonly State[],
  { isDraft, version }: Extract<Step, { do: 'restore' }>,
  { now, recorded, refused }: Tools,
): Outcome {
  if (!isDraft && now.draft && !now.published) return refused(404);
  const source = history[version - 1]?.draft;
  if (!source) return refused(400);
  if (isDraft) return recorded({ ...now, draft: source });
  return recorded({ published: source, draft: source, last: source });
}

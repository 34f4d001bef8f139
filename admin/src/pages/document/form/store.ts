import type { Field } from '../../../schema/fields.ts';
import { openListeners } from '../../../service/listeners.ts';
import { openContents } from './contents.ts';
import { openProblems } from './problem-store.ts';
import { getAt, type Values } from './values.ts';

/**
 * The state of a form. Inputs hold what is typed; what they tell is here, by path, and only who asks for a part hears
 * of it.
 */
export type Form = ReturnType<typeof openForm>;

/**
 * Opens a form.
 *
 * @param base the document as it was read, or the empty values of one that is not there yet.
 * @param values what stands in the form, where that is something else.
 */
export function openForm(fields: readonly Field[], base: Values, values: Values = base) {
  const contents = openContents(fields, base, values);
  const problems = openProblems();
  const { tell, subscribe } = openListeners();
  return {
    fields,
    subscribe,
    values: contents.values,
    base: contents.base,
    get: (path: string) => getAt(contents.values(), path),
    epochOf: contents.epochOf,
    isChanged: () => contents.changedNames().length > 0,
    changedNames: contents.changedNames,
    /** Takes what stands in the form now as what it begins with: prefilled words, and the slug made of them. */
    begin: contents.begin,
    /** Whether it holds what somebody has typed, and not saved. */
    isTyped: contents.isTyped,

    /** Takes what was typed. */
    set(path: string, value: unknown): void {
      contents.set(path, value);
      problems.clearAround(path);
      tell();
    },
    /** Sets whole fields from outside: a draft that comes back, a choice after a conflict. */
    replace(next: Values): void {
      contents.replace(next);
      tell();
    },
    /** Goes back to what was read. */
    reset(): void {
      contents.reset();
      problems.clear();
      tell();
    },
    /** Takes another document as what was read; what stands in the form stays. */
    rebase(document: Values): void {
      contents.rebase(document);
      tell();
    },
    /**
     * Takes the answer to a save. Text typed since it was sent stays as it is, and is a change of the new base; a
     * field that has the focus takes what the service made of it only when it is left.
     */
    saved(document: Values, sent: Values, focused: string | null): void {
      contents.saved(document, sent, focused);
      problems.clear();
      tell();
    },
    /** A field is left. */
    leave(name: string): void {
      if (contents.leave(name)) tell();
    },

    ...problemsOf(problems, tell),
  };
}

/** The part of a form about its problems. */
function problemsOf(problems: ReturnType<typeof openProblems>, tell: () => void) {
  return {
    problems: problems.all,
    problemAt: problems.at,
    /** The first that is wrong below a path: an item of a list that is one input. */
    problemIn: problems.in,
    hasLocalProblem: problems.hasLocal,
    /** Whether something at or below a path is wrong. */
    hasProblemIn: problems.hasIn,
    /** Shows what the service found wrong; what the browser found stays. */
    refuse(errors: readonly { field: string; message: string }[]): void {
      problems.refuse(errors);
      tell();
    },
    /** Says that what stands in a control is no value, or with undefined that it is one again. */
    setLocalProblem(path: string, message: string | undefined): void {
      if (problems.setLocal(path, message)) tell();
    },
    /** Forgets the problems of a list whose items have moved. */
    clearProblemsIn(path: string): void {
      problems.clearIn(path);
      tell();
    },
  };
}

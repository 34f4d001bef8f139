import type { Field } from '../../../schema/fields.ts';
import { openListeners } from '../../../service/listeners.ts';
import { openContents } from './contents.ts';
import { openProblems } from './problem-store.ts';
import { getAt, type Values } from './values.ts';

/**
 * The state of a form. Inputs hold the text being typed; the form has the values that they report, by path, and
 * notifies only the components whose part has changed.
 */
export type Form = ReturnType<typeof openForm>;

/**
 * Opens a form.
 *
 * @param base the document as it was read, or the empty values of a new document.
 * @param values the values in the form, if they differ from the base.
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
    /** Takes the current values as the values to begin with: prefilled words, and the slug made of them. */
    begin: contents.begin,
    /** Whether the user has typed changes that are not saved. */
    isTyped: contents.isTyped,

    /** Sets a value that the user typed. */
    set(path: string, value: unknown): void {
      contents.set(path, value);
      problems.clearAround(path);
      tell();
    },
    /** Sets whole fields from outside: restored unsaved changes, choices after a conflict. */
    replace(next: Values): void {
      contents.replace(next);
      tell();
    },
    /** Goes back to the document that was read. */
    reset(): void {
      contents.reset();
      problems.clear();
      tell();
    },
    /** Replaces the document that was read; the values in the form stay. */
    rebase(document: Values): void {
      contents.rebase(document);
      tell();
    },
    /**
     * Takes the answer to a save. Text typed since the request stays, as a change of the new base. A field with the
     * focus takes over the service's value only when the focus leaves it.
     */
    saved(document: Values, sent: Values, focused: string | null): void {
      contents.saved(document, sent, focused);
      problems.clear();
      tell();
    },
    /** Called when the focus leaves a field. */
    leave(name: string): void {
      if (contents.leave(name)) tell();
    },

    ...problemsOf(problems, tell),
  };
}

/** The functions of a form about its problems. */
function problemsOf(problems: ReturnType<typeof openProblems>, tell: () => void) {
  return {
    problems: problems.all,
    problemAt: problems.at,
    /** The first problem at or below a path: of an item, for a list that is one input. */
    problemIn: problems.in,
    hasLocalProblem: problems.hasLocal,
    /** Whether something at or below a path is wrong. */
    hasProblemIn: problems.hasIn,
    /** Shows the problems that the service found; those of the browser stay. */
    refuse(errors: readonly { field: string; message: string }[]): void {
      problems.refuse(errors);
      tell();
    },
    /** Says that the text in a control is not a value or, with undefined, that it is a value again. */
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

import type { Field } from '../../../schema/fields.ts';
import { changedFields } from './bodies.ts';
import { getAt, isSame, setAt, type Values } from './values.ts';

/** The state of a form. Inputs hold what is typed; what they tell is here, by path, and only who asks for a part hears of it. */
export type Form = ReturnType<typeof openForm>;

/** A message at a path; `local` ones are of the browser, and stop a save. */
type Problem = { message: string; isLocal: boolean };

/**
 * Opens a form.
 *
 * @param base the document as it was read, or the empty values of one that is not there yet.
 * @param values what stands in the form, where that is something else.
 */
export function openForm(fields: readonly Field[], base: Values, values: Values = base) {
  let [current, known] = [values, base];
  /** The values that the form began with, where no user has typed them; null once it has been saved or given up. */
  let begun: Values | null = null;
  let problems = new Map<string, Problem>();
  /** How often each top-level field was set from outside: its input is made anew then. */
  const epochs = new Map<string, number>();
  /** Values that the service has made of fields that are being typed in; each is taken over when its field is left. */
  const waiting = new Map<string, { sent: unknown; saved: unknown }>();
  const listeners = new Set<() => void>();
  /** The fields that differ, kept until something changes: several parts of a page ask at each key. */
  let changes: { current: Values; known: Values; names: string[] } | null = null;

  function changedNames(): string[] {
    if (changes?.current !== current || changes.known !== known) {
      const names = changedFields(fields, current, known).map(({ name }) => name);
      changes = { current, known, names };
    }
    return changes.names;
  }

  function tell(): void {
    for (const listener of listeners) listener();
  }

  /** Sets a field from outside, and shows it. */
  function put(name: string, value: unknown): void {
    if (!isSame(current[name], value)) epochs.set(name, (epochs.get(name) ?? 0) + 1);
    current = { ...current, [name]: value };
  }

  return {
    fields,
    subscribe(listener: () => void): () => void {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    values: () => current,
    base: () => known,
    get: (path: string) => getAt(current, path),
    epochOf: (name: string) => epochs.get(name) ?? 0,
    isChanged: () => changedNames().length > 0,
    changedNames,
    /** Takes what stands in the form now as what it begins with: prefilled words, and the slug made of them. */
    begin(): void {
      begun = current;
    },
    /** Whether it holds what somebody has typed, and not saved. */
    isTyped: () => changedNames().length > 0 && (begun === null || changedFields(fields, current, begun).length > 0),

    /** Takes what was typed. */
    set(path: string, value: unknown): void {
      current = setAt(current, path, value);
      problems = withoutAt(problems, path);
      tell();
    },
    /** Sets whole fields from outside: a draft that comes back, a choice after a conflict. */
    replace(next: Values): void {
      for (const [name, value] of Object.entries(next)) put(name, value);
      tell();
    },
    /** Goes back to what was read. */
    reset(): void {
      for (const name of new Set([...Object.keys(current), ...Object.keys(known)])) put(name, known[name]);
      problems = new Map();
      begun = null;
      tell();
    },
    /** Takes another document as what was read; what stands in the form stays. */
    rebase(document: Values): void {
      known = document;
      begun = null;
      tell();
    },
    /**
     * Takes the answer to a save. Text typed since it was sent stays as it is, and is a change of the new base; a
     * field that has the focus takes what the service made of it only when it is left.
     */
    saved(document: Values, sent: Values, focused: string | null): void {
      const base = { ...document };
      for (const { name, type } of fieldsIn(document, fields)) {
        if (type === 'join') continue;
        const isTypedSince = !isSame(current[name], sent[name]);
        if (isTypedSince) continue;
        if (name !== focused) put(name, document[name]);
        else if (!isSame(document[name], current[name])) {
          waiting.set(name, { sent: current[name], saved: document[name] });
          base[name] = current[name];
        }
      }
      known = base;
      begun = null;
      problems = new Map();
      tell();
    },
    /** A field is left. */
    leave(name: string): void {
      const late = waiting.get(name);
      if (late === undefined) return;
      waiting.delete(name);
      if (!isSame(current[name], late.sent)) return;
      put(name, late.saved);
      known = { ...known, [name]: late.saved };
      tell();
    },

    problemAt: (path: string) => problems.get(path)?.message,
    /** The first that is wrong below a path: an item of a list that is one input. */
    problemIn: (path: string) => [...problems].find(([one]) => isIn(one, path))?.[1].message,
    problems: () => problems,
    hasLocalProblem: () => [...problems.values()].some(({ isLocal }) => isLocal),
    /** Whether something at or below a path is wrong. */
    hasProblemIn: (path: string) => problems.keys().some((one) => isIn(one, path)),
    /** Shows what the service found wrong; what the browser found stays. */
    refuse(errors: readonly { field: string; message: string }[]): void {
      problems = new Map([...problems].filter(([, { isLocal }]) => isLocal));
      for (const { field, message } of errors) problems.set(field, { message, isLocal: false });
      tell();
    },
    /** Says that what stands in a control is no value, or with undefined that it is one again. */
    setLocalProblem(path: string, message: string | undefined): void {
      if (message === undefined && !problems.get(path)?.isLocal) return;
      problems = new Map(problems);
      if (message === undefined) problems.delete(path);
      else problems.set(path, { message, isLocal: true });
      tell();
    },
    /** Forgets the problems of a list whose items have moved. */
    clearProblemsIn(path: string): void {
      problems = new Map([...problems].filter(([one]) => one !== path && !isIn(one, path)));
      tell();
    },
  };
}

function fieldsIn(document: Values, fields: readonly Field[]): { name: string; type: string }[] {
  const flat = (level: readonly Field[]): Field[] =>
    level.flatMap((field) => (field.type === 'row' ? flat(field.fields ?? []) : [field]));
  return flat(fields).flatMap(({ name, type }) =>
    name !== undefined && Object.hasOwn(document, name) ? [{ name, type }] : [],
  );
}

function isIn(path: string, outer: string): boolean {
  return path === outer || path.startsWith(`${outer}.`);
}

/** Without the problems at a path, and above it: that a list is too short may be over when an item is typed in. */
function withoutAt(problems: Map<string, Problem>, path: string): Map<string, Problem> {
  if (problems.size === 0) return problems;
  const rest = [...problems].filter(([one]) => one !== path && !path.startsWith(`${one}.`));
  return rest.length === problems.size ? problems : new Map(rest);
}

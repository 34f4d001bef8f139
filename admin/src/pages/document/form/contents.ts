import { dataFields, type Field } from '../../../schema/fields.ts';
import { changedFields } from './bodies.ts';
import { isSame, setAt, type Values } from './values.ts';

/**
 * The values of a form, and the values that were read. The form notifies its listeners of changes, not this module.
 *
 * @param base the document as it was read.
 * @param values the values in the form.
 */
export function openContents(fields: readonly Field[], base: Values, values: Values) {
  let [current, known] = [values, base];
  /** The values that the form began with, if no user typed them; null once they are saved or discarded. */
  let begun: Values | null = null;
  /** How often each top-level field was set from outside: its input is then mounted anew. */
  const epochs = new Map<string, number>();
  /** Values that the service changed in fields with the focus; each is taken over when the focus leaves its field. */
  const waiting = new Map<string, { sent: unknown; saved: unknown }>();
  const namesOf = comparing(fields);
  const changedNames = () => namesOf(current, known);

  /** Sets a field from outside, and shows it. */
  function put(name: string, value: unknown): void {
    if (!isSame(current[name], value)) epochs.set(name, (epochs.get(name) ?? 0) + 1);
    current = { ...current, [name]: value };
  }

  /** Replaces the document that was read. */
  function rebase(document: Values): void {
    known = document;
    begun = null;
  }

  return {
    values: () => current,
    base: () => known,
    epochOf: (name: string) => epochs.get(name) ?? 0,
    changedNames,
    isTyped: () => changedNames().length > 0 && (begun === null || changedFields(fields, current, begun).length > 0),
    begin(): void {
      begun = current;
    },
    set(path: string, value: unknown): void {
      current = setAt(current, path, value);
    },
    replace(next: Values): void {
      for (const [name, value] of Object.entries(next)) put(name, value);
    },
    reset(): void {
      for (const name of new Set([...Object.keys(current), ...Object.keys(known)])) put(name, known[name]);
      begun = null;
    },
    rebase,
    /** Takes the answer to a save. */
    saved(document: Values, sent: Values, focused: string | null): void {
      const read = { ...document };
      for (const name of storedNames(fields, document)) {
        const isTypedSince = !isSame(current[name], sent[name]);
        if (isTypedSince) continue;
        if (name !== focused) put(name, document[name]);
        else if (!isSame(document[name], current[name])) {
          waiting.set(name, { sent: current[name], saved: document[name] });
          read[name] = current[name];
        }
      }
      rebase(read);
    },
    /** Takes over the value that waited for the focus to leave a field; false if no value waited. */
    leave(name: string): boolean {
      const late = waiting.get(name);
      waiting.delete(name);
      if (late === undefined || !isSame(current[name], late.sent)) return false;
      put(name, late.saved);
      known = { ...known, [name]: late.saved };
      return true;
    },
  };
}

/** The names of the changed fields, cached until a value changes: several parts of a page need them at each key. */
function comparing(fields: readonly Field[]): (current: Values, known: Values) => string[] {
  let last: { current: Values; known: Values; names: string[] } | null = null;
  return (current, known) => {
    if (last?.current !== current || last.known !== known) {
      const names = changedFields(fields, current, known).map(({ name }) => name);
      last = { current, known, names };
    }
    return last.names;
  };
}

/** The fields of a document that are stored in it. */
function storedNames(fields: readonly Field[], document: Values): string[] {
  const stored = dataFields(fields).filter(({ name, type }) => type !== 'join' && Object.hasOwn(document, name));
  return stored.map(({ name }) => name);
}

import { type ComponentType, createContext, useContext, useSyncExternalStore } from 'react';
import type { Field } from '../../../schema/fields.ts';
import type { Form } from './store.ts';

/** The fields of a level; `prefix` is the path of the level, with a dot at its end. */
export type LevelProps = { fields: readonly Field[]; prefix?: string };

/** The properties of the drawer that creates a document beside an open form. */
export type CreateDrawerProps = {
  /** Slug of the collection. */
  collection: string;
  onClose: () => void;
  onCreated: (document: { id: string; [field: string]: unknown }) => void;
  /** Values to begin with: the words that were searched for, as the title. */
  prefill?: Record<string, unknown>;
};

/** The form, and what its inputs need to know about the document. */
export type FormPlace = {
  form: Form;
  /** Unique on the page: ids of controls begin with it. */
  id: string;
  /** Slug of the collection or global. */
  slug: string;
  isNew: boolean;
  /** True if nothing can be written: at a moment of the past, or without the right. */
  isReadOnly: boolean;
  /** Renders the fields of an object, which may be of any type. The context has it to avoid a cycle of imports. */
  Level: ComponentType<LevelProps>;
  CreateDrawer: ComponentType<CreateDrawerProps>;
};

/** The context of the form for the inputs below. */
export const FormContext = createContext<FormPlace | null>(null);

/** The form around a component. */
export function useFormPlace(): FormPlace {
  const place = useContext(FormContext);
  if (place === null) throw new Error('there is no form around');
  return place;
}

/**
 * A part of the form's state. `select` must return the same value while the part has not changed: a text, a number, a
 * boolean, or an object that the form keeps.
 */
export function useFormState<State>(select: (form: Form) => State): State {
  const { form } = useFormPlace();
  return useFormStateOf(form, select);
}

/** As {@link useFormState}, for components that are not below the form. */
export function useFormStateOf<State>(form: Form, select: (form: Form) => State): State {
  return useSyncExternalStore(form.subscribe, () => select(form));
}

/** The id of the control at a path. */
export function controlId(place: Pick<FormPlace, 'id'>, path: string): string {
  return `${place.id}-${path.replaceAll('.', '-')}`;
}

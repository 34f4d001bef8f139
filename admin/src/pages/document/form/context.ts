import { type ComponentType, createContext, useContext, useSyncExternalStore } from 'react';
import type { Field } from '../../../schema/fields.ts';
import type { Form } from './store.ts';

/** The fields of a level; `prefix` is its path, with its dot. */
export type LevelProps = { fields: readonly Field[]; prefix?: string };

/** A form for a new document over the one that is open. */
export type CreateDrawerProps = {
  /** Slug of the collection. */
  collection: string;
  onClose: () => void;
  onCreated: (document: { id: string; [field: string]: unknown }) => void;
  /** Values that are there from the start: the words that were searched for, as its title. */
  prefill?: Record<string, unknown>;
};

/** The form, and what the inputs need to know of the document. */
export type FormPlace = {
  form: Form;
  /** Unique on the page: ids of controls begin with it. */
  id: string;
  /** Slug of the collection or global. */
  slug: string;
  isNew: boolean;
  /** Nothing can be written: a moment of the past, or no right. */
  isReadOnly: boolean;
  /** Draws the fields of an object, which may be of every type: from here, so that no file needs one that needs it. */
  Level: ComponentType<LevelProps>;
  CreateDrawer: ComponentType<CreateDrawerProps>;
};

/** The form that the inputs below belong to. */
export const FormContext = createContext<FormPlace | null>(null);

/** The form around. */
export function useFormPlace(): FormPlace {
  const place = useContext(FormContext);
  if (place === null) throw new Error('there is no form around');
  return place;
}

/**
 * A part of the form. It has to be the same value while nothing of it changes: a text, a number, true or false, a kept
 * object.
 */
export function useFormState<State>(select: (form: Form) => State): State {
  const { form } = useFormPlace();
  return useFormStateOf(form, select);
}

/** The same for who is not below the form. */
export function useFormStateOf<State>(form: Form, select: (form: Form) => State): State {
  return useSyncExternalStore(form.subscribe, () => select(form));
}

/** The id of the control at a path. */
export function controlId(place: Pick<FormPlace, 'id'>, path: string): string {
  return `${place.id}-${path.replaceAll('.', '-')}`;
}

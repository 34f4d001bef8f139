import { type ComponentType, createContext } from 'react';

type Props = {
  collection: string;
  /** Values that are there from the start. */
  prefill: Record<string, unknown>;
  onClose: () => void;
  onCreated: (document: { id: string }) => void;
};

/** The drawer in which a new document is made: the form in it holds inputs, so they get it from above. */
export const CreateContext = createContext<ComponentType<Props> | null>(null);

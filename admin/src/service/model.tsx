import { createContext, type ReactNode, useContext } from 'react';
import { type Collection, type Global, type Model, modelOf } from '../schema/model.ts';
import { client } from './client.ts';
import { keys, useOwnRead } from './queries.ts';

const ModelContext = createContext<Model | null>(null);

/** Provides the configuration to all pages. Documents of the past are shown with the fields of today too. */
export function ModelProvider(props: { children: ReactNode; loading: ReactNode; failed: (error: Error) => ReactNode }) {
  const { data, error } = useOwnRead(keys.schemas, async ({ signal }) => modelOf(await client.schemas({ signal })), {
    staleTime: 60_000,
    staysBehindLogin: true,
  });
  if (data !== undefined) return <ModelContext value={data}>{props.children}</ModelContext>;
  return error === null ? props.loading : props.failed(error);
}

/** The configuration, as the user may see it. */
export function useModel(): Model {
  const model = useContext(ModelContext);
  if (model === null) throw new Error('the configuration is not there');
  return model;
}

/** A collection of the configuration; undefined if the user can see no collection with that slug. */
export function useCollection(slug: string): Collection | undefined {
  return useModel().collections.get(slug);
}

/** A global of the configuration; undefined if the user can see no global with that slug. */
export function useGlobal(slug: string): Global | undefined {
  return useModel().globals.get(slug);
}

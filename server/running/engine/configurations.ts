import { withCategories } from '../../../events/service-events/categories.ts';
import { requireFit } from '../../files/blobs/guard.ts';
import type { LoadedConfiguration } from '../../settings/configuration.ts';
import type { WebhookService } from '../../webhooks/service.ts';
import type { Writer } from '../../writer/writer.ts';
import type { ThreadData } from '../thread-data.ts';
import type { AccountService } from './account-service.ts';
import type { EngineClient, EngineConfiguration } from './engine-client.ts';

/** Another configuration that an engine is ready for. Either `begin` is called, and `adopt` after it, or `drop`. */
export type PreparedEngine = {
  client: EngineClient;
  /** From now on the engine's client is this one. Commands of the new request handlers wait. */
  begin: () => void;
  /**
   * Lets the commands go on; commands of the former request handlers are refused.
   *
   * @param isNew whether the schema or the rules differ from those of the log, so that they are recorded.
   * @returns false if there was no space on the disk to record them: the next write tries again.
   */
  adopt: (isNew: boolean) => Promise<boolean>;
  drop: () => Promise<void>;
};

/** The configuration that an engine works by, and the way to another one. */
export type Configurations = {
  /** The client by the configuration in force. */
  client: () => EngineClient;
  /**
   * Prepares another configuration, which has the same read tables. Nothing is changed yet.
   *
   * @throws UsageError or BlobsRefusedError for a configuration that does not go with the settings.
   */
  prepare: (next: LoadedConfiguration) => Promise<PreparedEngine>;
  close: () => void;
};

type Options = {
  loaded: EngineConfiguration;
  threadData: Pick<ThreadData, 'blobs' | 'categories'>;
  /** Opens the client of one configuration; `generation` is the number of the configuration since the start. */
  openClient: (loaded: EngineConfiguration, generation: number) => EngineClient;
  accounts: AccountService;
  webhooks: WebhookService;
  adopt: Writer['adopt'];
};

/** Opens the client by the first configuration. */
export function openConfigurations(options: Options): Configurations {
  const { loaded, threadData, openClient, accounts, webhooks, adopt } = options;
  let generation = 0;
  let current = openClient(loaded, generation);

  async function prepare(next: LoadedConfiguration): Promise<PreparedEngine> {
    if (threadData.blobs.kind === 'bucket') requireFit(next.model);
    const model = withCategories(next.model, threadData.categories);
    const preparedWebhooks = await webhooks.prepare(model);
    const preparedAccounts = await accounts.prepare(model);
    const following = generation + 1;
    const client = openClient(next, following);
    return {
      client,
      begin() {
        preparedAccounts.begin();
        preparedWebhooks.begin();
        generation = following;
        current.close();
        current = client;
      },
      adopt: (isNew) => adopt(following, isNew ? { schema: model.schema, rules: model.rules } : null),
      async drop() {
        client.close();
        await preparedAccounts.drop();
      },
    };
  }

  return { client: () => current, prepare, close: () => current.close() };
}

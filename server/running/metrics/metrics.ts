import type { Logger } from 'pino';
import type { Settings } from '../../settings/settings.ts';
import { type Collector, createCollector } from './collector.ts';
import { type Listening, listenForMetrics } from './listener.ts';
import { hashOfToken } from './routes.ts';

/** The metrics of a process. */
export type Metrics = Omit<Collector, 'close'> & {
  /** The hash of the token of `/metrics` among the other routes; null if metrics have a separate address. */
  tokenHash: Buffer | null;
  /** Answers at the separate address, if there is one. */
  listen: () => Promise<void>;
  close: () => Promise<void>;
};

/**
 * Opens the metrics of a process; null if the settings have neither a token nor an address for them: then nothing is
 * counted.
 */
export function openMetrics({ metricsToken, metricsAddress, sites }: Settings, log: Logger): Metrics | null {
  if (metricsToken === undefined && metricsAddress === undefined) return null;
  const collector = createCollector(log, sites !== null);
  const tokenHash = metricsToken === undefined ? null : hashOfToken(metricsToken);
  let listening: Listening | null = null;
  return {
    ...collector,
    tokenHash: metricsAddress === undefined ? tokenHash : null,
    async listen() {
      if (metricsAddress === undefined) return;
      listening = await listenForMetrics(metricsAddress, { text: collector.text, tokenHash, log });
      log.info(`metrics are at ${listening.url}`);
    },
    async close() {
      await listening?.close();
      collector.close();
    },
  };
}

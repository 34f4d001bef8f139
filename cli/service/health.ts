import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { readSettings } from '../../server/settings/command.ts';
import { UsageError } from '../../server/settings/settings.ts';
import { codeOf, messageOf } from '../../storage/errors.ts';
import { readHolder } from '../../storage/holder.ts';

// Loads as little as it can: it is run every few seconds. `main.js` starts it without the other commands.

const patienceMilliseconds = 5000;

/**
 * `annals health`: asks the service that holds the data directory whether it is ready. Exit 0 ready; 1 not ready, or no
 * service; 2 wrong usage.
 */
export async function health(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  try {
    const { settings } = readSettings(args, environment, { settings: ['data', 'sites'] });
    const directories = (settings.sites ?? [settings]).map(({ data }) => resolve(data));
    const { isReady, told } = await ask(directories);
    process[isReady ? 'stdout' : 'stderr'].write(`${told}\n`);
    return isReady ? 0 : 1;
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`${error.message}\n\nannals health --help shows the usage\n`);
    return 2;
  }
}

type Readiness = { isReady: boolean; told: string };

async function ask(directories: readonly string[]): Promise<Readiness> {
  const holders = directories.map(readHolder).filter((holder) => holder !== null);
  // All sites of a process answer at one address, and some of them may have failed.
  const holder = holders.find(({ address }) => address !== null) ?? holders[0];
  if (!holder) return { isReady: false, told: `no service works on ${directories.join(', ')}` };
  const { what, pid, host, address } = holder;
  const who = `${what}, process ${pid} on ${host}`;
  if (address === null) return { isReady: false, told: `${who}, does not answer requests yet` };
  if (host !== hostname()) return { isReady: false, told: `${who}, is on another machine: ask ${address}/ready` };
  return askAt(address, who);
}

async function askAt(address: string, who: string): Promise<Readiness> {
  try {
    // Not by `fetch`, which takes longer to load than the answer takes to come.
    const outgoing = process
      .getBuiltinModule('node:http')
      .get(new URL(`${address}/ready`), { agent: false, signal: AbortSignal.timeout(patienceMilliseconds) });
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
    const said = await text(response);
    if (response.statusCode === 200) return { isReady: true, told: `ready at ${address}` };
    return { isReady: false, told: `not ready at ${address}: ${reasonIn(said)}` };
  } catch (error) {
    const isGone = codeOf(error) === 'ECONNREFUSED';
    return { isReady: false, told: `${who}, does not answer at ${address}${isGone ? '' : `: ${messageOf(error)}`}` };
  }
}

function reasonIn(said: string): string {
  try {
    return String(JSON.parse(said).status);
  } catch {
    return 'its answer is not that of a service';
  }
}

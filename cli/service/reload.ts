import type { ReloadResult } from '../../server/ports.ts';
import { reloadPath } from '../../server/running/listener-swap.ts';
import type { CommandLine } from '../../server/settings/command.ts';
import { answerOf, callService, reportRefusal } from '../operator-connection.ts';
import { printable } from '../terminal.ts';

/** Longer than a configuration may take to load, and the writes under way to end. */
const patienceMilliseconds = 180_000;

/** `annals reload`: has the running service read its configuration again. Exit 0 reloaded; 1 refused; 2 no service. */
export async function reload({ settings, flags }: CommandLine<{ 'accept-loss': 'boolean' }>): Promise<number> {
  const body = flags['accept-loss'] ? { acceptLoss: true } : {};
  const answered = await callService(settings, { path: reloadPath, body, patience: patienceMilliseconds });
  if (answered.status >= 300) return reportRefusal(answered);
  const { isReloaded, said } = inWords(answerOf<ReloadResult>(answered.body, { outcome: 'string', lines: 'object' }));
  process[isReloaded ? 'stdout' : 'stderr'].write(`${said.map(printable).join('\n')}\n`);
  return isReloaded ? 0 : 1;
}

/** The result for people: a heading, and a line for each point. */
export function inWords({ outcome, lines }: ReloadResult): { isReloaded: boolean; said: [string, ...string[]] } {
  if (outcome === 'changed') return { isReloaded: true, said: ['reloaded', ...lines] };
  if (outcome === 'unchanged')
    return { isReloaded: true, said: ['reloaded: nothing in the configuration has changed'] };
  const because = outcome === 'restart' ? 'this needs a restart' : 'the configuration is refused';
  return { isReloaded: false, said: [`not reloaded, the former configuration stays in force: ${because}`, ...lines] };
}

import { applyPath } from '../../server/running/nodes/up-to-date.ts';
import type { CommandLine } from '../../server/settings/command.ts';
import type { AppliedSchema } from '../../server/writer/messages.ts';
import { answerOf, callService, reportRefusal } from '../operator-connection.ts';
import { printLine } from '../terminal.ts';

/** Longer than the node tries: each document may have a claim that goes with it. */
const patienceMilliseconds = 180_000;

/** `annals schema apply`: has a node that waits apply its configuration. Exit 0 applied; 1 refused; 2 no node runs. */
export async function applySchema({ settings, flags }: CommandLine<{ 'accept-loss': 'boolean' }>): Promise<number> {
  const body = flags['accept-loss'] ? { acceptLoss: true } : {};
  const answered = await callService(settings, { path: applyPath, body, patience: patienceMilliseconds });
  if (answered.status >= 300) return reportRefusal(answered);
  const { outcome, position } = answerOf<AppliedSchema>(answered.body, { outcome: 'string', position: 'number' });
  printLine(
    outcome === 'applied' ? `applied, at position ${position} of the log` : 'the log has this configuration already',
  );
  return 0;
}

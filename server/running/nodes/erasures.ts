import { obstacleOf } from '../../../events/postgres/standing.ts';
import type { Settings } from '../../settings/settings.ts';
import type { Writer } from '../../writer/writer.ts';

/**
 * Tells what an erasure that is finished on this node waits for elsewhere; of a service with a log of its own, nothing.
 *
 * @param standing gives how all nodes are.
 */
export function elsewhereOf(
  { log }: Pick<Settings, 'log'>,
  standing: Writer['standing'],
): (position: number) => string | null {
  if (log === undefined) return () => null;
  return (position) => {
    const found = standing();
    return found ? obstacleOf(found, position) : 'it is not known how the other nodes are';
  };
}

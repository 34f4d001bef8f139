import { obstacleOf } from '../../../events/postgres/standing.ts';
import type { Settings } from '../../settings/settings.ts';
import type { Writer } from '../../writer/writer.ts';

/**
 * Makes the function that says what an erasure waits for that is finished on this node: null for nothing, as always for
 * a service with its own log.
 *
 * @param standing gives the standing of all nodes.
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

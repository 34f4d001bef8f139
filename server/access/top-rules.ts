import type { RouteCall } from '../app.ts';
import { requestId } from '../http/requests.ts';

/**
 * Whether a rule of the whole configuration says yes. A rule that throws, or returns anything but a boolean, says no,
 * and is logged.
 *
 * @param name of the rule in the configuration.
 */
export async function saysYes({ app, request }: RouteCall, name: string, ask: () => unknown): Promise<boolean> {
  try {
    const answer = await ask();
    // A member that a rule reads from a user may have no value: that is no permission.
    if (typeof answer === 'boolean' || answer === undefined || answer === null) return answer === true;
    throw new Error(`the rule ${name} must return true or false`);
  } catch (err) {
    app.log.error({ err, requestId: requestId(request) }, `the rule ${name} failed: it admits no caller`);
    return false;
  }
}

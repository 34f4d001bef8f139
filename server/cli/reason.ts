import { UsageError } from '../settings/settings.ts';

const longest = 500;

/**
 * Reads the reason of an operator, which the log keeps.
 *
 * @param why the subject of the reason, for the message if it is missing.
 * @param before the problems of the other arguments.
 * @throws UsageError naming those, and what is wrong with the reason.
 */
export function readReason(text: string | undefined, why: string, before: readonly string[] = []): string {
  const problems = [...before];
  const reason = (text ?? '').trim();
  if (text === undefined) problems.push(`--reason is missing: the log keeps ${why}`);
  else if (reason === '' || reason.length > longest)
    problems.push(`--reason must be a text of 1 to ${longest} characters that says why`);
  if (problems.length > 0) throw new UsageError(problems.join('\n'));
  return reason;
}

const longest = 500;

/**
 * Reads the reason of an operator, which the log keeps; a problem is added to `problems`.
 *
 * @param why the subject of the reason, for the message if it is missing.
 */
export function readReason(text: string | undefined, why: string, problems: string[]): string {
  const reason = (text ?? '').trim();
  if (text === undefined) problems.push(`--reason is missing: the log keeps ${why}`);
  else if (reason === '' || reason.length > longest)
    problems.push(`--reason must be a text of 1 to ${longest} characters that says why`);
  return reason;
}

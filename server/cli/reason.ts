const longest = 500;

/**
 * Reads why an operator does something that the log keeps; what is wrong with it is added to the problems.
 *
 * @param why what the log keeps by it, in the message where it is missing.
 */
export function readReason(text: string | undefined, why: string, problems: string[]): string {
  const reason = (text ?? '').trim();
  if (text === undefined) problems.push(`--reason is missing: the log keeps ${why}`);
  else if (reason === '' || reason.length > longest)
    problems.push(`--reason must be a text of 1 to ${longest} characters that says why`);
  return reason;
}

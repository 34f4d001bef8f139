import type { App } from '../app.ts';
import type { Log } from '../platform/logging.ts';

/** Thrown if a rule returns neither a boolean, nor nothing, nor a condition. */
export class RuleFaultError extends Error {
  override name = 'RuleFaultError';
  /** For example `the read rule of posts`. */
  readonly rule: string;

  constructor(rule: string, problem: string, options?: ErrorOptions) {
    super(`${rule} returned ${problem}`, options);
    this.rule = rule;
  }
}

/** Logs each rule that fails once: each page that is built on answers about all collections would log it again. */
export function faultsOnce(log: Log): App['tellRuleFault'] {
  const told = new Set<string>();
  return (rule, err) => {
    if (told.has(rule)) return;
    told.add(rule);
    log.error(
      { err },
      `${rule} failed: answers about several collections leave out what it decides. This is logged once`,
    );
  };
}

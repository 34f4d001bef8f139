import { parseArgs } from 'node:util';
import { didYouMean } from '../../config/suggest.ts';

/** The flags of a command, other than settings. A `list` can be repeated. */
export type Flags = Record<string, keyof FlagValues>;

/** The value of a flag of each kind. */
export type FlagValues = { boolean: boolean; string: string; list: string[] };

/** Reads the flags and the other arguments of a command line. Every problem is added to `problems`. */
export function readFlags(
  args: readonly string[],
  known: Flags,
  problems: string[],
): { values: Record<string, unknown>; positionals: string[] } {
  const options = Object.fromEntries(
    Object.entries(known).map(([name, type]) => {
      const short = name.length === 1 ? { short: name } : {};
      return [name, { type: type === 'boolean' ? type : 'string', multiple: type === 'list', ...short } as const];
    }),
  );
  const { values, positionals, tokens } = parseArgs({
    args: [...args],
    options,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  for (const token of tokens) {
    if (token.kind !== 'option') continue;
    const type = Object.hasOwn(known, token.name) ? known[token.name] : undefined;
    if (!type) {
      const hint = didYouMean(`--${token.name}`, Object.keys(known).map(written));
      problems.push(`unknown flag ${token.rawName}${hint}; known: ${list(Object.keys(known))}`);
      continue;
    }
    // `--data --port 0`: the value is missing, and the next flag is not meant as one.
    const isMissing = token.value === undefined || (!token.inlineValue && token.value.startsWith('--'));
    if (type !== 'boolean' && isMissing) problems.push(`${written(token.name)} needs a value`);
    if (type === 'boolean' && token.value !== undefined) problems.push(`${written(token.name)} takes no value`);
  }
  return { values, positionals };
}

function list(flags: readonly string[]): string {
  return flags.map(written).join(', ');
}

function written(flag: string): string {
  return flag.length === 1 ? `-${flag}` : `--${flag}`;
}

import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

// npm run faults -- [--rounds N] [--only NAME,…] [--nodes service|bare]. SIGINT ends it after the fault that is being
// tried.

const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'annals-faults-'));
// The PostgreSQL servers run as another user.
chmodSync(folder, 0o711);
const admin = { user: 'admin', password: 'annals-tests' };
// Read when the helpers are loaded: servers are started when a scenario needs them.
Object.assign(process.env, {
  TMPDIR: folder,
  TEST_POSTGRES_HOSTS: '',
  TEST_POSTGRES_USER: admin.user,
  TEST_POSTGRES_PASSWORD: admin.password,
  TEST_POSTGRES_FOLDER: folder,
});
const { scenarios } = await import('./faults/scenarios.ts');
const { failOverByPatroni } = await import('./faults/failovers.ts');
const { missingForPatroni } = await import('./faults/patroni.ts');
const { faketime, kinds } = await import('./faults/nodes.ts');
const say = (line: string) => process.stdout.write(`${line}\n`);

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '1' },
    only: { type: 'string' },
    nodes: { type: 'string', default: 'service' },
  },
});
const names = [...Object.keys(scenarios), 'patroni'];
const chosen = values.only?.split(',') ?? names;
const rounds = Number(values.rounds);
const options = kinds[values.nodes];
if (!(rounds >= 1) || !options || chosen.some((name) => !names.includes(name))) {
  process.stderr.write(`npm run faults -- [--rounds N] [--only ${names.join(',')}] [--nodes ${Object.keys(kinds)}]\n`);
  rmSync(folder, { recursive: true });
  process.exit(2);
}

type Found = Awaited<ReturnType<typeof failOverByPatroni>>;
const sums: Record<string, number[]> = {};
/** The longest times of each scenario, in milliseconds. */
const longest: Record<string, Record<string, number>> = {};

/** Adds figures to those of earlier rounds, and tells them. */
function tell(name: string, found: Found, seconds: number): void {
  const { acknowledged, refused, reads, missing, twice, decided, measured, notes } = found;
  const counts = [1, acknowledged, refused, reads, missing, twice, decided.recorded, decided.not];
  sums[name] = counts.map((count, at) => count + (sums[name]?.[at] ?? 0));
  const most = longest[name] ?? {};
  for (const [what, took] of Object.entries(measured)) most[what] = Math.max(took, most[what] ?? 0);
  longest[name] = most;
  const told = [...Object.entries(measured).map(([what, took]) => `${what} ${took} ms`), ...notes].join('. ');
  say(`${name}: ${acknowledged} acknowledged, ${missing} missing, ${twice} twice; ${seconds} s. ${told}`);
}

async function run(name: string, given: NonNullable<typeof options>): Promise<void> {
  const since = performance.now();
  const found =
    name === 'patroni'
      ? await failOverByPatroni({ ...given, rounds: 3 }, { folder, admin }, say)
      : await scenarios[name]?.run({ ...given, isShort: false });
  if (found) tell(name, found, Math.round((performance.now() - since) / 1000));
}

/** The reason why a scenario cannot be tried on this machine; null for none. */
function missingFor(name: string): string | null {
  if (name === 'patroni') return missingForPatroni();
  return name === 'clocks' && faketime === null ? "Debian's package libfaketime" : null;
}

const leftOut = chosen.filter((name) => missingFor(name) !== null);
for (const name of leftOut) say(`LEFT OUT: ${name}, for this machine lacks ${missingFor(name)}`);
let failed = 0;
let isStopping = false;
process.once('SIGINT', () => {
  isStopping = true;
});
try {
  for (let round = 1; round <= rounds; round += 1) {
    for (const name of chosen) {
      if (isStopping || leftOut.includes(name)) continue;
      try {
        await run(name, options);
      } catch (error) {
        failed += 1;
        say(`FAILED: ${name}, round ${round}: ${error instanceof Error ? error.stack : error}`);
      }
    }
  }
} finally {
  // The files of servers belong to another user.
  execFileSync('rm', ['-rf', folder]);
}
say('scenario            rounds  acknowledged  refused   reads  missing  twice  unknown: recorded, not');
const widths = [6, 14, 9, 8, 9, 7, 10, 6];
for (const [name, counts] of Object.entries(sums))
  say(name.padEnd(20) + counts.map((count, at) => String(count).padStart(widths[at] ?? 0)).join(''));
for (const [name, most] of Object.entries(longest))
  for (const [what, took] of Object.entries(most)) say(`longest, ${name}: ${what} ${took} ms`);
say(`${failed} failed, ${leftOut.length} left out${leftOut.length > 0 ? `: ${leftOut.join(', ')}` : ''}`);
process.exit(failed > 0 ? 1 : 0);

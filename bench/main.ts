import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { admin } from './admin.ts';
import { archiving } from './archiving.ts';
import { asOf } from './as-of.ts';
import { bulk } from './bulk.ts';
import { cost } from './cost.ts';
import { create } from './create.ts';
import { erasure } from './erasure.ts';
import { exporting } from './exporting.ts';
import { guard, keep } from './guard.ts';
import { lists } from './lists.ts';
import { requireWrk } from './load.ts';
import { log } from './log.ts';
import { logins } from './logins.ts';
import { memory } from './memory.ts';
import { nodes, partsOfNodes } from './nodes.ts';
import { overload } from './overload.ts';
import { read } from './read.ts';
import { machine } from './report.ts';
import type { Plan } from './rounds.ts';
import { search } from './search.ts';
import { start } from './start.ts';
import { type LoginTarget, timing } from './timing.ts';
import { uploads } from './uploads.ts';

const usage = `npm run bench -- [BENCHMARK]… [--rounds N] [--seconds N] [--large]

  cost     CPU of a request of each kind against the floor, by slices that follow each other closely: the figures to compare changes by
  guard    the same of R1, R2, R8 and W1 against the figures in bench/costs.json, in a minute; fails if one has made a step
  keep     writes those figures anew
  read     reads by id against a bare hapi + better-sqlite3 route
  lists    pages against the same bare route; all reads at 10,000 and 100,000 documents, with and without indexes
  create   durable creates against a bare group commit, fsyncs, reads meanwhile
  archiving creates while payloads are archived against creates while none are
  overload 1,000 connections that create at once: those taken, those refused, /health meanwhile
  bulk     1,000 creates in one call against a call for each
  log      rebuild and verify, events per second on one core, and on all
  start    from the start of the process to the first answer, with nothing, 10,000 and 100,000 documents
  logins   logins per second, and what reads feel of them
  timing   whether the time of a refused login tells that there is such an account
  uploads  a file of 1 GB in and out: speed, and memory above idle; small files. In a folder and in a bucket
  search   creates with search fields against those without; searches with another word each at 10,000 and 100,000 documents
  asof     lists as of a position against those of today: 100,000 documents with 10 versions each (some minutes, 4 GB)
  admin    the admin application in Chromium, with 250 and 100,000 documents: pages, searches, work for each key
  erasure  writes while a document is erased: the longest, and how long the erasure takes
  memory   at rest by threads, after each load, after a mixed load of some minutes and a rest
  nodes    the log in PostgreSQL against one in a file: creates, appends; linear reads, those of two nodes, the time until another node
           has a write; a move there and back, a new node, sizes. Starts PostgreSQL unless TEST_POSTGRES_… name one
  export   exports and evidence packs: events per second, memory above idle, reads meanwhile, sizes; verifying them

  --rounds N   how often each side is measured, in turn (default 5)
  --seconds N  how long each time (default 4, at most 15)
  --cycles N   cost: how many slices each side has (default 30)
  --base COMMIT guard: tells a step from another machine by the service of that commit
  --only A,B   cost: these requests only, of R1, R2, R6, R8 and W1
  --beside DIR cost: another checkout of this project, with its dependencies installed, to compare with
  --minutes N  memory: how long the mixed load lasts (default 10)
  --parts A,B  nodes: these parts only, of writes, reads and moves
  --large      nodes: a log of 1,000,000 events is moved, not of 100,000 (an hour where others use the machine, 16 GB);
               log, lists, search, erasure, export: also with 1,000,000 events (some minutes, 4 GB under ${tmpdir()});
               start: with 1,000,000 documents of 5 events each (half an hour, 16 GB)
  --login URL  timing: at a running service that neither locks nor limits, such as
               http://127.0.0.1:4000/api/collections/users/login; with --known EMAIL of an account there
`;

/** The benchmarks that check and write the recorded figures. */
const ofFigures: ReadonlySet<string> = new Set(['guard', 'keep']);

const benchmarks = {
  guard: async (folder: string) => {
    if (!(await guard(folder, values.base || null))) process.exitCode = 1;
  },
  keep: (folder: string) => keep(folder),
  cost: (folder: string) =>
    cost(folder, { cycles: Number(values.cycles), checkout: values.beside ?? null, only: values.only?.split(',') }),
  read: (folder: string, plan: Plan) => withWrk(() => read(folder, plan)),
  lists: (folder: string, plan: Plan, isLarge: boolean) => withWrk(() => lists(folder, plan, isLarge)),
  create: (folder: string, plan: Plan) => withWrk(() => create(folder, plan)),
  archiving: (folder: string, plan: Plan) => withWrk(() => archiving(folder, plan)),
  overload: (folder: string, plan: Plan) => overload(folder, plan),
  bulk: (folder: string, plan: Plan) => bulk(folder, plan),
  log: (folder: string, plan: Plan, isLarge: boolean) => log(folder, plan, isLarge),
  start: (folder: string, plan: Plan, isLarge: boolean) => start(folder, plan, isLarge),
  logins: (folder: string, plan: Plan) => withWrk(() => logins(folder, plan)),
  timing: (folder: string, plan: Plan) => timing(folder, plan, loginTarget()),
  uploads: (folder: string, plan: Plan) => withWrk(() => uploads(folder, plan)),
  search: (folder: string, plan: Plan, isLarge: boolean) => withWrk(() => search(folder, plan, isLarge)),
  asof: (folder: string, plan: Plan) => withWrk(() => asOf(folder, plan)),
  admin: (folder: string, plan: Plan) => admin(folder, plan),
  erasure: (folder: string, plan: Plan, isLarge: boolean) => erasure(folder, plan, isLarge),
  nodes: (folder: string, plan: Plan, isLarge: boolean) => withWrk(() => nodes(folder, plan, isLarge, parts)),
  memory: (folder: string, plan: Plan) => withWrk(() => memory(folder, plan, Number(values.minutes))),
  export: (folder: string, plan: Plan, isLarge: boolean) => exporting(folder, plan, isLarge),
};

async function withWrk(run: () => Promise<void>): Promise<void> {
  requireWrk();
  await run();
}

function loginTarget(): LoginTarget | null {
  const { login: url, known } = values;
  if (url === undefined) return null;
  if (known === undefined) throw new Error('--login needs --known: the e-mail of an account there');
  return { url, known };
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '4' },
    cycles: { type: 'string', default: '30' },
    beside: { type: 'string' },
    base: { type: 'string' },
    only: { type: 'string' },
    minutes: { type: 'string', default: '10' },
    parts: { type: 'string', default: partsOfNodes.join(',') },
    large: { type: 'boolean', default: false },
    login: { type: 'string' },
    known: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
const names = positionals.length > 0 ? positionals : Object.keys(benchmarks).filter((name) => !ofFigures.has(name));
const plan: Plan = { rounds: Number(values.rounds), seconds: Number(values.seconds) };
const parts = values.parts.split(',');
const isUsable =
  parts.every((name) => partsOfNodes.includes(name)) &&
  names.every((name) => Object.hasOwn(benchmarks, name)) &&
  plan.rounds >= 1 &&
  plan.seconds >= 1 &&
  Number(values.minutes) > 0;

if (values.help || !isUsable) {
  process.stdout.write(usage);
  process.exitCode = values.help ? 0 : 2;
} else {
  const folder = mkdtempSync(join(tmpdir(), 'annals-bench-'));
  try {
    process.stdout.write(`${machine()}\n`);
    for (const name of names) {
      await benchmarks[name as keyof typeof benchmarks](join(folder, name), plan, values.large);
    }
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    process.exitCode = 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

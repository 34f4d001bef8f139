import { join } from 'node:path';
import { type Call, type Load, load } from './load.ts';
import { apiKey, type Server, startAnnals } from './processes.ts';
import { prepare, reads } from './read.ts';
import { median, round, table } from './report.ts';
import { loadColumns, loadRow, mediansOf, type Plan } from './rounds.ts';

const accounts = 50;
const password = 'a password of the benchmark';
const users = '/api/collections/users';

/** Measures logins at 1 and 32 connections, with 50 accounts in turn; reads while others log in; reads with a token. */
export async function logins(folder: string, plan: Plan): Promise<void> {
  const { data, ids } = prepare(folder);
  const server = await startAnnals(data, join(folder, 'annals'), { config: 'accounts' });
  try {
    for (let index = 0; index < accounts; index += 1) await post(server, users, { email: emailOf(index), password });
    const calls = Array.from({ length: accounts }, (_, index): Call => {
      return { method: 'POST', path: `${users}/login`, body: { email: emailOf(index), password } };
    });
    await throughput(server, calls, plan);
    await beside(server, calls, reads('/api/collections/posts/', ids), plan);
  } finally {
    await server.stop();
  }
}

async function throughput(server: Server, calls: readonly Call[], { rounds, seconds }: Plan): Promise<void> {
  const rows = [];
  for (const connections of [1, 32]) {
    const taken: Load[] = [];
    for (let count = 0; count < rounds; count += 1) taken.push(await load(server, calls, { connections, seconds }));
    rows.push(loadRow(`${connections} connections`, mediansOf(taken)));
  }
  table(`Logins, bcrypt cost 10, ${accounts} accounts in turn`, loadColumns, rows);
}

/** Reads alone, with logins at the same time, and with a token, round by round. */
async function beside(server: Server, logins: readonly Call[], posts: readonly Call[], plan: Plan): Promise<void> {
  const token = (await post(server, `${users}/login`, { email: emailOf(0), password })).token as string;
  const options = { connections: 32, seconds: plan.seconds };
  const taken: { alone: Load; together: Load; logins: Load; signedIn: Load }[] = [];
  for (let count = 0; count < plan.rounds; count += 1) {
    const alone = await load(server, posts, options);
    const [together, others] = await Promise.all([load(server, posts, options), load(server, logins, options)]);
    taken.push({ alone, together, logins: others, signedIn: await load(server, posts, { ...options, token }) });
  }
  const of = (name: keyof (typeof taken)[number]) => median(taken.map((one) => one[name].perSecond));
  const [alone, together] = [of('alone'), of('together')];
  table(
    'Reads by id, 32 connections, while 32 others log in',
    ['reads/s alone', 'reads/s beside', 'logins/s meanwhile', 'kept', 'reads/s under a token', 'of those without'],
    [[alone, together, of('logins'), together / alone, of('signedIn'), of('signedIn') / alone].map(round)],
  );
}

function emailOf(index: number): string {
  return `user-${index}@example.org`;
}

async function post({ url }: Server, path: string, body: object): Promise<Record<string, unknown>> {
  const headers = { 'content-type': 'application/json', 'x-api-key': apiKey };
  const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as Record<string, unknown>;
}

import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createRandom } from '../../bench/content.ts';
import { runCommand, type Service, startService, temporaryFolder } from '../helpers/service.ts';
import { checkStories } from './check.ts';
import { create, runClient, type Story } from './clients.ts';

/** How many rounds, from which seed, and whom to tell after each. */
export type CrashOptions = { rounds: number; seed: number; report?: (line: string) => void };

const clients = 8;

const config = {
  collections: [
    {
      slug: 'things',
      admin: { searchFields: ['marker', 'note'] },
      fields: [
        { name: 'marker', type: 'text', required: true, unique: true },
        { name: 'twin', type: 'text', unique: true },
        { name: 'text', type: 'textarea' },
        { name: 'sum', type: 'number', index: true },
        { name: 'note', type: 'text', index: true },
      ],
    },
  ],
};

/**
 * Kills the service with SIGKILL at random moments under load, again and again on the same data directory, and checks
 * after every restart that each acknowledged write is there exactly once. At the end `annals verify` must find nothing.
 *
 * @throws AssertionError naming the first write that is lost, doubled or halved.
 */
export async function runCrashes(t: TestContext, { rounds, seed, report }: CrashOptions): Promise<void> {
  const random = createRandom(seed);
  const data = temporaryFolder(t);
  /** Answered by the main thread, every third by two of their own: what some leave behind, others find. */
  const start = (round: number) => {
    const environment = { ANNALS_LOG_LEVEL: 'error', ANNALS_THREADS: round % 3 === 1 ? '2' : '0' };
    return startService(t, config, { data, environment });
  };
  let stories: Story[] = [];
  let service = await start(0);
  for (let round = 1; round <= rounds; round += 1) {
    const milliseconds = Math.round(20 + random() * 380);
    const made = await loadAndKill(service, round, milliseconds, random);
    service = await start(round);
    stories = await checkStories(service.call, data, [...stories, ...made]);
    report?.(`round ${round}: killed after ${milliseconds} ms, ${made.length} new documents, ${stories.length} kept`);
  }
  const code = await service.stop();
  if (code !== 0) throw new Error(`the service ended with ${code}: ${service.output().stderr}`);
  const verified = await runCommand(['verify', '--data', data]);
  if (verified.code !== 0) throw new Error(`annals verify: ${verified.stdout}${verified.stderr}`);
  report?.(verified.stdout.trim());
}

/** Every client has documents of its own, and all of them change one that they share. */
async function loadAndKill(service: Service, round: number, milliseconds: number, random: () => number) {
  const hot: Story[] = [];
  await create(service.call, `${round}-0-0`, hot);
  const own = Array.from({ length: clients }, (): Story[] => []);
  const running = own.map((stories, index) => {
    const name = `${round}-${index + 1}`;
    return runClient(service.call, { name, own: stories, hot: hot[0] as Story, random: createRandom(random() * 1e9) });
  });
  await Promise.race([sleep(milliseconds), Promise.all(running)]);
  await service.kill();
  await Promise.all(running);
  return [...hot, ...own.flat()];
}

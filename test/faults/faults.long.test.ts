import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { describeWithServers, type Servers, startServers } from '../helpers/postgres.ts';
import { faketime, kinds } from './nodes.ts';
import { scenarios } from './scenarios.ts';

/** The kind of nodes that each is tried on here, in few seconds; `npm run faults` tries them for longer. */
const nodesOf: Record<string, 'service' | 'bare'> = {
  'primary-killed': 'service',
  'standby-silent': 'service',
  'standby-cut-off': 'service',
  asynchronous: 'bare',
  'cancelled-commit': 'service',
  partition: 'service',
  'stopped-under-lock': 'bare',
  'node-killed': 'bare',
  races: 'service',
  'slow-node': 'bare',
  'node-behind': 'service',
  clocks: 'bare',
};

describeWithServers('Nodes that share a log, and a fault', tests, { concurrency: 4 });

/** Several scenarios at a time, because they wait most of the time. */
function tests(): void {
  let shared: Servers;
  before(async () => {
    shared = await startServers();
  });
  after(() => shared.end());

  it('are each tried here', () => {
    assert.deepEqual(Object.keys(nodesOf).sort(), Object.keys(scenarios).sort());
  });

  for (const [name, which] of Object.entries(nodesOf)) {
    const isMissing = name === 'clocks' && faketime === null;
    it(`keep what they have acknowledged: ${name}`, {
      skip: isMissing && "Debian's package libfaketime is not installed",
    }, async (t) => {
      const scenario = scenarios[name];
      assert.ok(scenario);
      const { kind, headers } = kinds[which] as (typeof kinds)[string];
      const servers = scenario.leavesServers ? { servers: shared } : {};
      const { acknowledged, missing, pause, measured, notes } = await scenario.run({
        kind,
        headers,
        isShort: true,
        ...servers,
      });
      const times = Object.entries(measured).map(([what, took]) => `${what} ${took} ms`);
      t.diagnostic(
        `${acknowledged} acknowledged, ${missing} missing, ${pause} ms without one. ${[...times, ...notes].join('. ')}`,
      );
    });
  }
}

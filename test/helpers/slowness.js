import { createHash } from 'node:crypto';

/** Milliseconds of {@link timesOfWork} on an idle machine of the kind on which the budgets were measured. */
const usual = 16;

/**
 * How much slower this machine is right now than those on which budgets and bounds were measured: in CPU time, and on
 * the clock, while others use the machine too. Both are at least 1.
 */
export function slowness() {
  const rounds = Array.from({ length: 3 }, timesOfWork);
  const atLeast1 = (milliseconds) => Math.max(1, milliseconds / usual);
  return {
    ofCpu: atLeast1(Math.min(...rounds.map(({ computed }) => computed))),
    onClock: atLeast1(rounds.reduce((sum, { passed }) => sum + passed, 0) / rounds.length),
  };
}

/** A sample of what tests do: objects to text and back, and hashes. */
function timesOfWork() {
  const begun = { cpu: process.cpuUsage(), at: performance.now() };
  const values = Array.from({ length: 200 }, (_, n) => ({ n, text: `${n}`.repeat(20), list: [n, { n }] }));
  for (let round = 0; round < 150; round += 1) {
    createHash('sha256')
      .update(JSON.stringify(JSON.parse(JSON.stringify(values))))
      .digest('hex');
  }
  const { user, system } = process.cpuUsage(begun.cpu);
  return { computed: (user + system) / 1000, passed: performance.now() - begun.at };
}

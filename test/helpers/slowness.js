import { createHash } from 'node:crypto';

/** What the work below takes of the CPU on the machines that the budgets were made for, in milliseconds. */
const usual = 22;

/** How much slower this machine computes right now than those that the budgets were made for; at least 1. */
export function slowness() {
  const rounds = Array.from({ length: 3 }, millisecondsOfWork);
  return Math.max(1, Math.min(...rounds) / usual);
}

/** Some of what tests do: objects as text and back, and hashes. */
function millisecondsOfWork() {
  const begun = process.cpuUsage();
  const values = Array.from({ length: 200 }, (_, n) => ({ n, text: `${n}`.repeat(20), list: [n, { n }] }));
  for (let round = 0; round < 150; round += 1) {
    createHash('sha256')
      .update(JSON.stringify(JSON.parse(JSON.stringify(values))))
      .digest('hex');
  }
  const { user, system } = process.cpuUsage(begun);
  return (user + system) / 1000;
}

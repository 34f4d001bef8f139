import { describe, it } from 'node:test';
import { useServiceHere } from '../helpers/embedded.ts';
import { roundsOf } from '../helpers/rounds.ts';
import { busyConfig, killAndRestore } from './backup-kills.ts';

const rounds = roundsOf(10, 3);
const service = useServiceHere(busyConfig);

describe('annals backup --follow, killed again and again', () => {
  for (let round = 1; round <= rounds; round += 1) {
    const milliseconds = Math.floor(Math.random() * 4000);
    it(`has a prefix of the log after ${milliseconds} ms`, async (t) => {
      await killAndRestore(t, service, milliseconds);
    });
  }
});

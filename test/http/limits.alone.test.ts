import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createLimit as createCount, networkOf } from '../../server/http/limits.ts';

/** Counts calls; gives the seconds to wait. */
function createLimit(
  ...options: Parameters<typeof createCount>
): (address: string, email: string | null) => Promise<number> {
  const count = createCount(...options);
  return async (address, email) => {
    const counted = await count(address, email);
    return counted === null ? 0 : Math.max(counted.wait, counted.emailWait);
  };
}

describe('limiting the calls of public account routes', () => {
  it('lets as many through as are allowed to an address, whatever the e-mails', async () => {
    const limit = createLimit({ address: 3, email: 100 });
    for (const email of ['a@example.com', null, 'b@example.com']) assert.equal(await limit('192.0.2.1', email), 0);
    const seconds = await limit('192.0.2.1', null);
    assert.ok(seconds >= 1 && seconds <= 60, String(seconds));
    assert.equal(await limit('192.0.2.2', null), 0);
  });

  it('lets as many through as are allowed to an e-mail, however it is written and from wherever', async () => {
    const limit = createLimit({ address: 100, email: 2 });
    assert.equal(await limit('192.0.2.1', 'a@example.com'), 0);
    assert.equal(await limit('192.0.2.2', ' A@Example.com '), 0);
    assert.ok((await limit('192.0.2.3', 'a@example.COM')) >= 1);
    assert.equal(await limit('192.0.2.3', 'b@example.com'), 0);
    assert.equal(await limit('192.0.2.3', null), 0);
  });

  it('limits nothing when it is turned off', async () => {
    const limit = createLimit(null);
    for (let count = 0; count < 1000; count += 1) assert.equal(await limit('192.0.2.1', 'a@example.com'), 0);
  });

  it('takes for one caller what one caller can choose from', () => {
    for (const [address, network] of [
      ['192.0.2.1', '192.0.2.1'],
      ['::ffff:192.0.2.1', '192.0.2.1'],
      ['::ffff:c000:201', '192.0.2.1'],
      ['0:0:0:0:0:ffff:192.0.2.1', '192.0.2.1'],
      ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
      ['2001:0DB8:0001:0002::', '2001:db8:1:2::/64'],
      ['2001:db8::1', '2001:db8:0:0::/64'],
      ['fe80::1%eth0', 'fe80:0:0:0::/64'],
      ['::1', '0:0:0:0::/64'],
      ['::', '0:0:0:0::/64'],
      ['1::', '1:0:0:0::/64'],
      ['::ffff:0:0:0:0', '0:0:0:ffff::/64'],
      ['', ''],
      ['no address', 'no address'],
    ] as const) {
      assert.equal(networkOf(address), network, address);
    }
  });

  it('takes no more memory the more addresses and e-mails there are', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const limit = createLimit({ address: 300, email: 60 }, 100);
    let next = 0;
    async function flood(calls: number): Promise<number> {
      for (let count = 0; count < calls; count += 1) {
        next += 1;
        await limit(`10.0.${next >> 8}.${next & 255}`, `${next}@example.com`);
      }
      collect();
      return process.memoryUsage().heapUsed;
    }
    const before = await flood(1000);
    const grown = (await flood(10_000)) - before;
    assert.ok(grown < 2_000_000, `${grown} bytes more for ten times the addresses`);
  });
});

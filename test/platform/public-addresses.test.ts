import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isPublic, lookupPublic, requirePublicHost } from '../../server/platform/public-addresses.ts';

describe('public addresses', () => {
  it('are those that are reachable from anywhere', () => {
    const others = [
      ...['0.0.0.0', '0.1.2.3', '10.1.2.3', '100.64.0.1', '100.127.255.255', '127.0.0.1', '127.255.255.254'],
      ...['169.254.169.254', '172.16.0.1', '172.31.255.255', '192.0.0.8', '192.0.2.1', '192.168.1.1', '198.18.0.1'],
      ...['198.51.100.1', '203.0.113.1', '224.0.0.1', '239.1.1.1', '240.0.0.1', '255.255.255.255'],
      ...['::', '::1', '::127.0.0.1', '::ffff:127.0.0.1', '::ffff:8.8.8.8', '64:ff9b::7f00:1', '100::1', '2001::1'],
      ...['2001:db8::1', '2002:7f00:1::', 'fc00::1', 'fd12:3456::1', 'fe80::1', 'fe80::1%eth0', 'fec0::1', 'ff02::1'],
      ...['::ffff:0:7f00:1', '1::1', '4000::1', '5f00::1', '8000::1', 'fbff::1', '64:ff9b:1::1'],
      ...['', 'localhost', '127.1', '8.8.8.8.', '8.8.8.8%eth0'],
    ];
    for (const address of others) assert.equal(isPublic(address), false, address);
    const publics = ['1.1.1.1', '8.8.8.8', '100.63.0.1', '172.15.0.1', '172.32.0.1', '2606:4700::1111', '2a00::1'];
    for (const address of publics) assert.equal(isPublic(address), true, address);
  });

  it('are required of a URL however it writes an address', () => {
    for (const host of ['127.0.0.1', '2130706433', '0x7f.1', '0177.0.0.1', '[::1]', '[::ffff:7f00:1]', '１２７.0.0.1'])
      assert.throws(() => requirePublicHost(new URL(`http://${host}/`)), /^PrivateAddressError/, host);
    requirePublicHost(new URL('http://8.8.8.8/'));
    // A name is looked up by the socket.
    requirePublicHost(new URL('http://localhost/'));
  });

  it('are the only ones that a socket gets for a name', async () => {
    for (const all of [true, false]) {
      const error = await new Promise((resolve) => lookupPublic('localhost', { all }, resolve));
      assert.match(String(error), /^PrivateAddressError: its address is not a public one$/);
    }
  });
});

import { type LookupAddress, lookup } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';

/**
 * Networks whose addresses are not public: those of the IANA registries of special-purpose addresses (RFC 6890) that
 * are not globally reachable, multicast, and forms of IPv6 that contain an address of IPv4, which may be such an
 * address.
 */
const networks = {
  ipv4: [
    '0.0.0.0/8',
    '10.0.0.0/8',
    '100.64.0.0/10',
    '127.0.0.0/8',
    '169.254.0.0/16',
    '172.16.0.0/12',
    '192.0.0.0/24',
    '192.0.2.0/24',
    '192.88.99.0/24',
    '192.168.0.0/16',
    '198.18.0.0/15',
    '198.51.100.0/24',
    '203.0.113.0/24',
    '224.0.0.0/4',
    '240.0.0.0/4',
  ],
  ipv6: [
    // All outside of 2000::/3, the only range of public addresses; this covers `::ffff:0:0:0/96` and other forms that
    // contain an address of IPv4.
    '::/3',
    '4000::/2',
    '8000::/1',
    '2001::/23',
    '2001:db8::/32',
    '2002::/16',
    '3fff::/20',
  ],
} as const;

// Two lists: in one, addresses of IPv4 would be compared with networks of IPv6 as mapped ones.
const refused = { ipv4: blockListOf('ipv4'), ipv6: blockListOf('ipv6') };

function blockListOf(family: keyof typeof networks): BlockList {
  const list = new BlockList();
  for (const network of networks[family]) {
    const [address = '', bits] = network.split('/');
    list.addSubnet(address, Number(bits), family);
  }
  return list;
}

/** Thrown for an address that is not public. */
export class PrivateAddressError extends Error {
  override name = 'PrivateAddressError';

  constructor() {
    super('its address is not a public one');
  }
}

/** True for an IP address that is reachable from anywhere; false for any other text. */
export function isPublic(address: string): boolean {
  // Only link-local addresses have a zone.
  if (address.includes('%')) return false;
  const family = isIP(address);
  if (family === 0) return false;
  const name = family === 4 ? 'ipv4' : 'ipv6';
  return !refused[name].check(address, name);
}

/** @throws PrivateAddressError for an IP address in a URL, for which no name is looked up, that is not public. */
export function requirePublicHost({ hostname }: URL): void {
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  if (isIP(host) !== 0 && !isPublic(host)) throw new PrivateAddressError();
}

/**
 * Looks up a name for a socket, in place of `dns.lookup`: the socket then connects to the addresses that were checked
 * here. If one of them is not public, all are refused: the name is probably meant to mislead.
 */
export const lookupPublic: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, found: LookupAddress[]) => {
    const [first] = found ?? [];
    if (error) callback(error, []);
    else if (!first || found.some(({ address }) => !isPublic(address))) callback(new PrivateAddressError(), []);
    else if (options.all) callback(null, found);
    else callback(null, first.address, first.family);
  });
};

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readSettings } from '../../server/settings/command.ts';
import { UsageError } from '../../server/settings/settings.ts';

function read(environment: Record<string, string>) {
  return readSettings([], environment, { settings: ['port', 'sites'] }).settings;
}

/** The variables that tell a pod of a Kubernetes service with one named port. */
function linksOf(service: string): Record<string, string> {
  return {
    [`${service}_SERVICE_HOST`]: '10.96.0.17',
    [`${service}_SERVICE_PORT`]: '4000',
    [`${service}_SERVICE_PORT_HTTP`]: '4000',
    [`${service}_PORT`]: 'tcp://10.96.0.17:4000',
    [`${service}_PORT_4000_TCP`]: 'tcp://10.96.0.17:4000',
    [`${service}_PORT_4000_TCP_PROTO`]: 'tcp',
    [`${service}_PORT_4000_TCP_PORT`]: '4000',
    [`${service}_PORT_4000_TCP_ADDR`]: '10.96.0.17',
    [`${service}_PORT_53_UDP_ADDR`]: '10.96.0.17',
  };
}

describe('The variables of a Kubernetes service called annals', () => {
  it('are passed over, and the port is the default', () => {
    assert.equal(read(linksOf('ANNALS')).port, 4000);
    assert.equal(read({ ANNALS_SERVICE_HOST: 'x', ANNALS_PORT: 'tcp://10.0.0.1:4000' }).port, 4000);
    assert.equal(read({ ...linksOf('ANNALS'), ANNALS_PORT: '4001' }).port, 4001);
  });

  it('are passed over if its name has more words', () => {
    assert.equal(read({ ...linksOf('ANNALS_ADMIN'), ...linksOf('ANNALS_S3_2'), ANNALS_PORT: '81' }).port, 81);
  });

  it('are of exactly these shapes: all other unknown names, and all other ports, are refused', () => {
    for (const [name, value] of [
      ['ANNALS_PROT', '1'],
      ['ANNALS_PROT', 'tcp://10.0.0.1:4000'],
      ['ANNALS_SERVICE', 'x'],
      ['ANNALS_SERVICE_HOSTS', 'x'],
      ['ANNALS_ADMIN_PORT', '4000'],
      ['ANNALS_PORT_4000', 'tcp://10.0.0.1:4000'],
      ['ANNALS_PORT_4000_TCP_HOST', '10.0.0.1'],
      ['ANNALS_PORT_HTTP_TCP', 'tcp://10.0.0.1:4000'],
      ['ANNALS_service_host', 'x'],
      ['ANNALS_PORT', 'http://10.0.0.1:4000'],
    ] as const) {
      const problem = name === 'ANNALS_PORT' ? /^ANNALS_PORT must be a port number/ : /^unknown environment variable/;
      assert.throws(
        () => read({ [name]: value }),
        (error) => error instanceof UsageError && problem.test(error.message),
        `${name}=${value}`,
      );
    }
  });
});

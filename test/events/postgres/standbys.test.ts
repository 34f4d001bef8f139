import assert from 'node:assert/strict';
import { it } from 'node:test';
import { type Instance, nameIn, unnamedStandbys } from '../../../events/postgres/standbys.ts';

const primary = (...standbys: string[]): Instance => ({ id: 'p', cluster: '1', name: null, standbys });
const standby = (id: string, name: string, ...standbys: string[]): Instance => ({ id, cluster: '1', name, standbys });

it('Standbys that are not among some servers are told apart by their names', () => {
  assert.deepEqual(unnamedStandbys([primary()]), []);
  assert.deepEqual(unnamedStandbys([primary('b', 'c'), standby('2', 'c')]), ['b']);
  assert.deepEqual(unnamedStandbys([primary('b', 'c'), standby('2', 'c'), standby('3', 'b')]), []);
  // A standby that follows no server now is not the one that the primary has.
  assert.deepEqual(unnamedStandbys([primary('b'), { ...standby('2', ''), name: null }]), ['b']);
});

it('Standbys of one name are counted, and a server counts once, whatever leads to it', () => {
  const [one, other] = [standby('2', 'walreceiver'), standby('3', 'walreceiver')];
  const both = primary('walreceiver', 'walreceiver');
  assert.deepEqual(unnamedStandbys([both, one]), ['walreceiver']);
  assert.deepEqual(unnamedStandbys([both, one, one, both]), ['walreceiver']);
  assert.deepEqual(unnamedStandbys([both, one, other]), []);
});

it('A standby of a standby is one of those, and one of another cluster is not', () => {
  assert.deepEqual(unnamedStandbys([primary('b'), standby('2', 'b', 'c')]), ['c']);
  assert.deepEqual(unnamedStandbys([primary('b'), standby('2', 'b', 'c'), standby('3', 'c')]), []);
  assert.deepEqual(unnamedStandbys([primary('b'), { ...standby('2', 'b'), cluster: '2' }]), ['b']);
});

it('The name of a standby is that of its connection string', () => {
  const of = (middle: string) =>
    nameIn(`user=admin password=******** host=127.0.0.1 port=5432${middle} sslmode=prefer`);
  assert.equal(of(' application_name=b fallback_application_name=walreceiver'), 'b');
  assert.equal(of(' fallback_application_name=the west'), 'the west');
  assert.equal(nameIn('application_name=a=b c'), 'a=b c');
  assert.equal(nameIn(null), null);
});

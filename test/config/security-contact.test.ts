import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkConfig } from '../../config/check.ts';
import { problemsOf } from './problems.ts';

const configured = (securityContact: unknown) => ({ collections: [{ slug: 'posts', fields: [] }], securityContact });

describe('securityContact', () => {
  it('is one URI or several, in their order; none without it', () => {
    const of = (value: unknown) => checkConfig(configured(value)).securityContact;
    assert.deepEqual(of(undefined), []);
    assert.deepEqual(of('mailto:security@example.org'), ['mailto:security@example.org']);
    const several = ['https://example.org/security?a=b', 'tel:+1-201-555-0123', 'tel:7042;phone-context=example.org'];
    assert.deepEqual(of(several), several);
  });

  it('is refused if it is no such URI, with what was probably meant', () => {
    const must = 'must be a mailto:, https: or tel: URI such as "mailto:security@example.org", got';
    for (const [value, rest] of [
      ['security@example.org', '"security@example.org"; did you mean "mailto:security@example.org"?'],
      ['http://example.org/security', '"http://example.org/security"; did you mean "https://example.org/security"?'],
      ['example.org/security', '"example.org/security"; did you mean "https://example.org/security"?'],
      ['+1 201 555', '"+1 201 555"; did you mean "tel:+1-201-555"?'],
      [' mailto:a@example.org', '" mailto:a@example.org"; did you mean "mailto:a@example.org"?'],
      ['mailto:', '"mailto:"'],
      ['mailto:a@example.org,b@example.org', '"mailto:a@example.org,b@example.org"'],
      ['https://ada:hush@example.org/', '"https://ada:hush@example.org/"'],
      ['ftp://example.org', '"ftp://example.org"'],
      ['tel:call me', '"tel:call me"'],
      ['javascript:alert(1)', '"javascript:alert(1)"'],
      ['https://example.org/\nContact: https://evil.example', '"https://example.org/\\nContact: https://evil.example"'],
      ['', '""'],
    ] as const) {
      assert.deepEqual(problemsOf(configured(value)), [`securityContact: ${must} ${rest}`]);
      assert.deepEqual(problemsOf(configured(['mailto:a@example.org', value])), [`securityContact.1: ${must} ${rest}`]);
    }
    assert.deepEqual(problemsOf(configured([5])), [`securityContact.0: ${must} 5`]);
    assert.deepEqual(problemsOf(configured([])), ['securityContact: must not be empty']);
    assert.deepEqual(problemsOf(configured(['tel:+1', 'tel:+1'])), ['securityContact.1: "tel:+1" is listed twice']);
    assert.deepEqual(problemsOf(configured(false)), [
      'securityContact: must be a mailto:, https: or tel: URI, or a list of these, got false',
    ]);
    assert.deepEqual(problemsOf({ ...configured(undefined), securityContacts: 'x' }), [
      'securityContacts: is not a key of the configuration; did you mean "securityContact"?',
    ]);
  });
});

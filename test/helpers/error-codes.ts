import assert from 'node:assert/strict';
import { errorCodes } from '../../config/error-codes.ts';
import { errorPlaces, fieldErrorCodes } from '../../config/field-error-codes.ts';
import { statusOf } from '../../server/http/errors.ts';
import { codeOfStatus } from '../../server/http/status-codes.ts';
import type { Answer } from './service.ts';

const statuses: Partial<Record<string, number>> = statusOf;

/**
 * Asserts that an error answer has a code of the list, and the status of this code.
 *
 * @param request method and path, as `POST /api/collections/posts`.
 */
export function assertCoded(request: string, { status, body }: Pick<Answer, 'status' | 'body'>): void {
  if (status < 400 || typeof body?.statusCode !== 'number') return;
  const { code } = body;
  const told = `${request}: ${JSON.stringify(body)}`;
  assert.ok(Object.hasOwn(errorCodes, code), told);
  for (const error of body.errors ?? []) {
    assert.ok(Object.hasOwn(fieldErrorCodes, error.code) && errorPlaces.includes(error.in), told);
  }
  if (code !== 'hook_refused' && code !== codeOfStatus(status)) assert.equal(statuses[code], status, told);
}

/** The codes of entries that random requests of the contract's test may not meet, and the test that provokes each. */
export const entriesMetElsewhere: Record<string, string> = {
  changed_since: 'test/audit/undo.test.ts',
  duplicate: 'test/contract/field-error-codes.test.ts',
  file_invalid: 'test/contract/field-error-codes.test.ts',
  file_type: 'test/contract/field-error-codes.test.ts',
  forbidden_document: 'test/documents/bulk.test.ts',
  format: 'test/contract/field-error-codes.test.ts',
  index_needed: 'test/reads/reads.test.ts',
  invalid: 'test/contract/field-error-codes.test.ts',
  max: 'test/contract/field-error-codes.test.ts',
  max_items: 'test/contract/field-error-codes.test.ts',
  max_length: 'test/contract/field-error-codes.test.ts',
  min: 'test/contract/field-error-codes.test.ts',
  min_items: 'test/contract/field-error-codes.test.ts',
  min_length: 'test/contract/field-error-codes.test.ts',
  not_allowed: 'test/contract/field-error-codes.test.ts',
  out_of_range: 'test/contract/field-error-codes.test.ts',
  pattern: 'test/contract/field-error-codes.test.ts',
  reference_not_found: 'test/contract/field-error-codes.test.ts',
  required: 'test/contract/field-error-codes.test.ts',
  too_deep: 'test/contract/field-error-codes.test.ts',
  too_expensive: 'test/contract/field-error-codes.test.ts',
  type: 'test/contract/field-error-codes.test.ts',
  unique: 'test/contract/field-error-codes.test.ts',
  unknown_field: 'test/contract/field-error-codes.test.ts',
  unknown_operator: 'test/contract/field-error-codes.test.ts',
  unknown_parameter: 'test/contract/field-error-codes.test.ts',
  unsafe_characters: 'test/contract/field-error-codes.test.ts',
  unsafe_number: 'test/contract/field-error-codes.test.ts',
};

/** The codes that no operation of the contract's test meets, and the test that provokes each. */
export const metElsewhere: Record<string, string> = {
  erased: 'test/audit/erasure/erasures.test.ts',
  expectation_failed: 'test/http/errors.test.ts',
  headers_too_large: 'test/http/errors.test.ts',
  method_not_allowed: 'test/http/methods.test.ts',
  not_shown_yet: 'test/documents/passwords.test.ts',
  log_altered: 'test/audit/chosen.test.ts',
  outcome_unknown: 'test/writer/hindrances.alone.test.ts',
  too_large: 'test/accounts/preferences.test.ts',
  too_many_events: 'test/contract/audit.test.ts',
};

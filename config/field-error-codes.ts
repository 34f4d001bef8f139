/**
 * The codes of the entries of `errors`, with their meanings: the closed list beside `errorCodes`, made into the same
 * unions and documents.
 */
export const fieldErrorCodes = {
  required: 'The value is missing, null or empty.',
  unknown_field: 'There is no such field here, or a path leads to none; a wrong name is often a misspelled one.',
  unknown_parameter: 'The route has no such query parameter.',
  unknown_operator: 'There is no such operator, or not for a field of this type.',
  type: 'The value is of another type: for example a text instead of a number.',
  format: 'The text does not have the form of its kind, such as a date, an e-mail address, an id or a cursor.',
  pattern: 'The text does not match the `pattern` of the field.',
  not_allowed: 'The value is not one of those that are allowed; `allowed` has them, if there are few.',
  min: 'The number is less than `limit`.',
  max: 'The number is greater than `limit`.',
  min_length: 'The text has fewer characters than `limit`.',
  max_length: 'The text has more characters than `limit`.',
  min_items: 'The list has fewer items than `limit`.',
  max_items: 'The list has more items, or the request more parts of a kind, than `limit`.',
  duplicate: 'The same thing is given twice.',
  unsafe_characters: 'The text has characters that are not stored or shown, or is not UTF-8.',
  unsafe_number: 'JSON does not keep the number exactly.',
  too_deep: 'The value nests more levels than `limit`.',
  contradiction: 'The value does not go with another value or parameter of the request.',
  misplaced: 'The field, parameter or header may not be given here.',
  out_of_range: 'The position, version or moment is beyond what there is; it may be greater than `limit`.',
  invalid_token: 'The token is not valid: it was used, replaced, or is too old.',
  unique: 'Another document has the value.',
  reference_not_found: 'No such document or thing exists.',
  forbidden_field: 'The caller may not write the field, or give this right.',
  forbidden_document: 'The caller may not do this to the document.',
  changed_since: 'The document has changed since.',
  idempotency_key_reused: 'The key was used before, for another request.',
  file_type: 'The type of the file, by its bytes, is not one that the collection takes.',
  file_too_large: 'The file has more bytes than `limit`.',
  file_invalid: 'The file is empty, or is not what its type says.',
  index_needed: 'The read takes too long without an index.',
  too_expensive: 'The answer would have too much in it.',
  invalid: 'The value breaks a rule that has no code of its own; the message says which.',
} as const;

/** A code of an entry of `errors`. */
export type FieldErrorCode = keyof typeof fieldErrorCodes;

/** The parts of a request in which a wrong value can be. */
export const errorPlaces = ['body', 'query', 'header', 'path'] as const;

/** The part of the request in which a wrong value is. */
export type ErrorPlace = (typeof errorPlaces)[number];

/** The values that a translated message needs, beside the field. */
export type ErrorParameters = { limit?: number; allowed?: readonly string[] };

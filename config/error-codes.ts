/**
 * The codes of errors, with their meanings: the closed list from which the TypeScript unions, the OpenAPI documents and
 * the client are made. A test compares the page with it. A program decides by the code; a message may change.
 */
export const errorCodes = {
  validation_failed: 'Fields, parameters or headers are wrong; `errors` has each.',
  malformed: 'The request cannot be parsed: it is not HTTP, not JSON, or not UTF-8.',
  unauthorized: 'A credential is needed, or a credential of another kind.',
  invalid_token: 'The token is not valid or has expired, or its session has ended.',
  invalid_api_key: 'The API key is not valid.',
  invalid_credentials: 'The e-mail or the password is wrong.',
  forbidden: 'The caller may not do this.',
  route_not_found: 'There is no such route; an unknown collection is one.',
  not_found: 'There is no such document, version, file, account or other thing.',
  method_not_allowed: 'The path has other methods, which `Allow` names.',
  request_timeout: 'The request took too long to arrive.',
  conflict: 'The state of what the request is about does not allow it.',
  unique: 'Unique values are taken; `errors` has each.',
  write_conflict: 'Other writers keep changing the same thing; try again.',
  erased: 'The subject of the request has been erased.',
  idempotency_key_in_use: 'An earlier request with this `Idempotency-Key` has no answer yet, or was cut off.',
  stale: 'The document, or the file, is not the one that `If-Match` names.',
  body_too_large: 'The body is too large.',
  file_too_large: 'The file is too large.',
  too_large: 'Kept data would be too large, or a bulk call changes too much.',
  unsupported_media_type: 'The body has a type that the route does not accept, or is compressed.',
  range_not_satisfiable: 'No part of the file is in the range that `Range` names.',
  expectation_failed: 'The `Expect` header asks for something other than `100-continue`.',
  idempotency_key_reused: 'The `Idempotency-Key` was used before, for another request.',
  too_many_events: 'More events would have to be shown than one answer may hold.',
  rate_limited: 'The caller has called too often, or has too many answers under way.',
  locked: 'The account is locked after failed logins.',
  headers_too_large: 'The headers are too large, or too many.',
  hook_refused: 'A hook of the configuration refused the request, with a status and a message of its own.',
  internal: 'A bug in the service or in a hook.',
  log_altered: 'An event in the log is not what was recorded.',
  unavailable: 'The service cannot do this at the moment; nothing was recorded. Try again.',
  disk_full: 'There is no room on the disk; nothing was recorded.',
  not_shown_yet: 'The change was recorded, but cannot be shown yet.',
  outcome_unknown: 'It is not known whether the change was recorded.',
} as const;

/** A code of an error. */
export type ErrorCode = keyof typeof errorCodes;

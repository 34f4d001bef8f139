import { BlobMissingError, BlobsRefusedError, BlobsUnavailableError } from '../blobs.ts';
import { wrongCertificates } from '../certificate-errors.ts';
import { messageOf } from '../errors.ts';

type Meaning = { kind: 'full' | 'unreachable' | 'refused'; text: string };

const refused = (text: string): Meaning => ({ kind: 'refused', text });
const full: Meaning = { kind: 'full', text: 'is full' };
const otherRegion = refused('is in another region: ANNALS_S3_REGION is wrong');
const otherProtocol = refused('does not speak the protocol: ANNALS_S3_ENDPOINT is wrong');
const noSuchName = refused('has a name that no bucket can have: ANNALS_S3_BUCKET is wrong');
const ofCertificates = Object.entries(wrongCertificates).map(([code, what]) => [code, refused(`has ${what}`)] as const);

/** The meanings of codes of S3 and of connections. With any other code the server counts as unreachable. */
const meanings: Record<string, Meaning> = {
  InvalidAccessKeyId: refused('does not know the access key: ANNALS_S3_ACCESS_KEY is wrong'),
  ERR_INVALID_CHAR: refused('accepts no access key of this form: ANNALS_S3_ACCESS_KEY is wrong'),
  SignatureDoesNotMatch: refused('does not accept the signature: ANNALS_S3_SECRET_KEY is wrong'),
  AccessDenied: refused(
    'denies access: ANNALS_S3_ACCESS_KEY and ANNALS_S3_SECRET_KEY must be right and may list, read, write and delete',
  ),
  InvalidBucketName: noSuchName,
  InvalidBucketNameError: noSuchName,
  BucketAlreadyExists: refused('belongs to somebody else: ANNALS_S3_BUCKET must name another one'),
  NoSuchBucket: { kind: 'unreachable', text: 'is gone' },
  AuthorizationHeaderMalformed: otherRegion,
  PermanentRedirect: otherRegion,
  MovedPermanently: otherRegion,
  InvalidLocationConstraint: otherRegion,
  IllegalLocationConstraintException: otherRegion,
  RequestTimeTooSkewed: {
    kind: 'unreachable',
    text: 'has a clock that differs too much from the clock of this machine',
  },
  XMinioStorageFull: full,
  XMinioAdminBucketQuotaExceeded: full,
  QuotaExceeded: full,
  EPROTO: otherProtocol,
  ...Object.fromEntries(ofCertificates),
};

/**
 * Turns an error of the S3 client into an error of the store: BlobsUnavailableError, or BlobsRefusedError, which names
 * the wrong setting. An error of the store is returned unchanged.
 *
 * @param bucket the name of the bucket, which begins the message.
 */
export function describeFailure(error: unknown, bucket: string): Error {
  if (isSaid(error)) return error;
  const code = codeOf(error);
  // The words of the server are left out, because they may quote secrets from the request.
  const said = isAnswer(error) ? `answers ${code}` : `does not answer: ${messageOf(error) || code}`;
  const { kind, text } = meaningOf(code) ?? { kind: 'unreachable', text: said };
  if (kind === 'refused') return new BlobsRefusedError(`${bucket} ${text} (${code})`);
  return new BlobsUnavailableError(kind, `${bucket} ${text}`, isAnswer(error) ? {} : { cause: error });
}

/** True if an object is missing. After a HEAD, whose answer has no body, also if the bucket is missing. */
export function isMissingObject(error: unknown): boolean {
  return ['NoSuchKey', 'NotFound'].includes(codeOf(error));
}

export function isMissingBucket(error: unknown): boolean {
  return codeOf(error) === 'NoSuchBucket';
}

/** True if the bucket was made in the meantime, with the same keys. */
export function isBucketThere(error: unknown): boolean {
  return codeOf(error) === 'BucketAlreadyOwnedByYou';
}

/** True if a bucket without Object Lock refuses to lock an object. */
export function isNoLock(error: unknown): boolean {
  return ['InvalidRequest', 'InvalidArgument', 'ObjectLockConfigurationNotFoundError'].includes(codeOf(error));
}

/** True if a put with `if-none-match` failed because the object exists or is just being put. */
export function isTaken(error: unknown): boolean {
  return ['PreconditionFailed', 'ConditionalRequestConflict'].includes(codeOf(error));
}

/** True if a server does not list versions, or not for these keys. */
export function isNoVersions(error: unknown): boolean {
  return ['NotImplemented', 'MethodNotAllowed', 'AccessDenied'].includes(codeOf(error));
}

/** True if a server denies a call. A removal is also denied if a lock keeps the object. */
export function isDenied(error: unknown): boolean {
  return ['AccessDenied', 'ObjectLocked', 'InvalidRequest'].includes(codeOf(error));
}

/** True if a connection ended without an answer. */
export function isConnectionLost(error: unknown): boolean {
  return ['ECONNRESET', 'EPIPE'].includes(codeOf(error));
}

function isSaid(error: unknown): error is Error {
  return [BlobsUnavailableError, BlobsRefusedError, BlobMissingError].some((said) => error instanceof said);
}

function meaningOf(code: string): Meaning | undefined {
  if (/^(ERR_SSL_|HPE_)/.test(code)) return otherProtocol;
  return Object.hasOwn(meanings, code) ? meanings[code] : undefined;
}

/** True for an error that the client made from an answer: it has the headers that name the request. */
function isAnswer(error: unknown): boolean {
  return error instanceof Error && 'amzRequestid' in error;
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  if ('code' in error && typeof error.code === 'string' && error.code !== '') return error.code;
  return isAnswer(error) ? 'unlike an S3 server' : error.name;
}

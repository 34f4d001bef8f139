import { constants, hash, verify, X509Certificate } from 'node:crypto';
import { messageOf } from '../../../storage/errors.ts';
import {
  bytesOf,
  type Der,
  DerError,
  isNumber,
  isOctets,
  isSequence,
  isTagged,
  isTrue,
  membersOf,
  numberIn,
  octetsIn,
  oidIn,
  readDer,
  sha256Oid,
  timeIn,
} from './der.ts';

/**
 * A time-stamp token (RFC 3161) whose signature fits: the holder of the key of `signer` made it. Whether that
 * certificate is trusted, {@link isVouchedFor} says.
 */
export type Token = {
  /** The hash that was there at `time` (ISO 8601): its algorithm as OpenSSL calls it. */
  imprint: { algorithm: string; hash: Buffer };
  time: string;
  nonce: bigint | null;
  signer: X509Certificate;
  /** The certificates in the token, the signer's among them. */
  certificates: X509Certificate[];
};

const oids = {
  signedData: '1.2.840.113549.1.7.2',
  tokenInfo: '1.2.840.113549.1.9.16.1.4',
  contentType: '1.2.840.113549.1.9.3',
  messageDigest: '1.2.840.113549.1.9.4',
  signingCertificate: '1.2.840.113549.1.9.16.2.12',
  signingCertificateV2: '1.2.840.113549.1.9.16.2.47',
  extendedKeyUsage: '2.5.29.37',
  basicConstraints: '2.5.29.19',
  timeStamping: '1.3.6.1.5.5.7.3.8',
  pss: '1.2.840.113549.1.1.10',
};

const hashes: Record<string, string> = {
  [sha256Oid]: 'sha256',
  '2.16.840.1.101.3.4.2.2': 'sha384',
  '2.16.840.1.101.3.4.2.3': 'sha512',
};

/** Signature algorithms, and the hash that each implies; null: the hash is named beside the algorithm. */
const signatures: Record<string, { key: string; hash: string | null }> = {
  '1.2.840.113549.1.1.1': { key: 'rsa', hash: null },
  '1.2.840.113549.1.1.11': { key: 'rsa', hash: 'sha256' },
  '1.2.840.113549.1.1.12': { key: 'rsa', hash: 'sha384' },
  '1.2.840.113549.1.1.13': { key: 'rsa', hash: 'sha512' },
  '1.2.840.10045.4.3.2': { key: 'ec', hash: 'sha256' },
  '1.2.840.10045.4.3.3': { key: 'ec', hash: 'sha384' },
  '1.2.840.10045.4.3.4': { key: 'ec', hash: 'sha512' },
};

/** Tokens have some kilobytes: the certificates. */
const largest = 64 * 1024;

/** Thrown for a token that proves nothing: the message says why, after `the token`. */
export class TokenError extends Error {
  override name = 'TokenError';
}

/**
 * Reads a time-stamp token and checks all but whether its maker is trusted: the signature over its content (RFC 5652,
 * section 5.4); and that the certificate is the one that the signature names (RFC 5816), is for time stamps alone, and
 * was valid at the stated time (RFC 3161, section 2.3).
 *
 * @throws TokenError if the bytes are not a token, or a check fails.
 */
export function readToken(bytes: Uint8Array): Token {
  try {
    if (bytes.length > largest) throw new DerError('it is too long');
    return checked(readDer(bytes));
  } catch (error) {
    if (error instanceof TokenError) throw error;
    // Also what OpenSSL says of a key: the bytes are anybody's.
    throw new TokenError(`is not a time-stamp token: ${messageOf(error)}`);
  }
}

function must(condition: unknown, message: string): asserts condition {
  if (!condition) throw new TokenError(message);
}

function checked(token: Der): Token {
  const [contentType, content] = membersOf(token);
  must(oidIn(contentType) === oids.signedData, 'is not a time-stamp token: it is not signed');
  const [, , encapsulated, ...more] = membersOf(membersOf(content)[0]);
  const [kind, wrapped] = membersOf(encapsulated);
  must(oidIn(kind) === oids.tokenInfo, 'is not a time-stamp token: it states something else than a time');
  const info = octetsIn(membersOf(wrapped)[0]);
  const certificates = membersOf(more.find((each) => isTagged(each, 0))).map(certificateIn);
  const signers = membersOf(more.at(-1));
  must(signers.length === 1, `has ${signers.length} signatures, not one`);
  const signer = checkSignature(signers[0], info, certificates);
  const said = saidBy(info);
  checkPurpose(signer);
  must(isValidAt(signer, said.time), 'is of a time at which its certificate was not valid');
  return { ...said, signer, certificates };
}

function certificateIn(value: Der): X509Certificate {
  try {
    return new X509Certificate(bytesOf(value));
  } catch {
    throw new DerError('a certificate in it cannot be read');
  }
}

/** TSTInfo (RFC 3161, section 2.4.2). */
function saidBy(info: Buffer): Pick<Token, 'imprint' | 'time' | 'nonce'> {
  const [version, policy, imprint, serial, time, ...rest] = membersOf(readDer(info));
  oidIn(policy);
  numberIn(serial);
  must(numberIn(version) === 1n, 'is of another version');
  const [algorithm, hashed] = membersOf(imprint);
  const nonce = rest.find(isNumber);
  return {
    imprint: { algorithm: hashIn(algorithm), hash: octetsIn(hashed) },
    time: timeIn(time),
    nonce: nonce ? numberIn(nonce) : null,
  };
}

function hashIn(algorithm: Der | undefined): string {
  const oid = oidIn(membersOf(algorithm)[0]);
  const name = hashes[oid];
  must(name, `uses a hash that is not known here, ${oid}`);
  return name;
}

/** SignerInfo (RFC 5652, section 5.3): its attributes are signed, and hold the hash of the content. */
function checkSignature(
  signerInfo: Der | undefined,
  info: Buffer,
  certificates: readonly X509Certificate[],
): X509Certificate {
  const [, id, digestAlgorithm, attributes, signatureAlgorithm, signature] = membersOf(signerInfo);
  must(isTagged(attributes, 0) && attributes, 'has no signed attributes');
  const digest = hashIn(digestAlgorithm);
  const attribute = attributesIn(attributes);
  must(oidIn(attribute(oids.contentType)) === oids.tokenInfo, 'signs something else than a time');
  const isOfThis = octetsIn(attribute(oids.messageDigest)).equals(hash(digest, info, 'buffer'));
  must(isOfThis, 'says something else than was signed');
  const signer = certificates.find(isNamedBy(attribute, id));
  must(signer, 'does not hold the certificate that its signature names');
  // They are signed as the set that they are, not under the tag that they have in the token.
  const signed = bytesOf(attributes);
  signed[0] = 0x31;
  must(
    isSignedBy(signer, { digest, algorithm: signatureAlgorithm, signed, signature: octetsIn(signature) }),
    'has a signature that does not fit',
  );
  return signer;
}

type Attribute = (oid: string) => Der | undefined;

/** Each may be there once, with one value (RFC 5652, section 5.3). */
function attributesIn(attributes: Der): Attribute {
  const found = new Map<string, Der>();
  for (const attribute of membersOf(attributes)) {
    const [type, values] = membersOf(attribute);
    const [value, ...others] = membersOf(values);
    const oid = oidIn(type);
    must(value && others.length === 0 && !found.has(oid), 'has an attribute twice, or without a value');
    found.set(oid, value);
  }
  return (oid) => found.get(oid);
}

/** The certificate is the one whose hash is signed: ESSCertID of RFC 2634, with SHA-1, or ESSCertIDv2 of RFC 5816. */
function isNamedBy(attribute: Attribute, id: Der | undefined): (certificate: X509Certificate) => boolean {
  const second = attribute(oids.signingCertificateV2);
  const first = second ?? attribute(oids.signingCertificate);
  must(first, 'does not name its certificate');
  const named = membersOf(membersOf(membersOf(first)[0])[0]);
  const algorithm = !second ? 'sha1' : isSequence(named[0]) ? hashIn(named[0]) : 'sha256';
  const hashed = octetsIn(named.find(isOctets));
  const serial = isSequence(id) ? numberIn(membersOf(id)[1]).toString(16).toUpperCase() : null;
  return ({ raw, serialNumber }) =>
    hash(algorithm, raw, 'buffer').equals(hashed) && (serial === null || serialNumber.replace(/^0+/, '') === serial);
}

/** @param digest the hash of RSA signatures, whose algorithm may name none. */
type Signature = { digest: string; algorithm: Der | undefined; signed: Buffer; signature: Buffer };

function isSignedBy({ publicKey: key }: X509Certificate, { digest, algorithm, signed, signature }: Signature): boolean {
  const [type, parameters] = membersOf(algorithm);
  const oid = oidIn(type);
  if (oid === oids.pss) {
    const named = membersOf(parameters).find((each) => isTagged(each, 0));
    must(
      named && key.asymmetricKeyType?.startsWith('rsa'),
      'is signed in a way that is not known here, with RSASSA-PSS',
    );
    const padding = constants.RSA_PKCS1_PSS_PADDING;
    const saltLength = constants.RSA_PSS_SALTLEN_AUTO;
    return verify(hashIn(membersOf(named)[0]), signed, { key, padding, saltLength }, signature);
  }
  const known = signatures[oid];
  must(known && known.key === key.asymmetricKeyType, `is signed in a way that is not known here, ${oid}`);
  return verify(known.hash ?? digest, signed, key, signature);
}

/** The certificate is for time stamps alone, by a critical extension (RFC 3161, section 2.3). */
function checkPurpose(signer: X509Certificate): void {
  const usage = extensionOf(signer, oids.extendedKeyUsage);
  const purposes = usage ? membersOf(readDer(usage.value)).map(oidIn) : [];
  const isRight = usage?.isCritical && purposes.length === 1 && purposes[0] === oids.timeStamping;
  must(isRight, 'is by a certificate that is not for time stamps alone');
}

/** An extension of a certificate (RFC 5280, section 4.1). */
function extensionOf(certificate: X509Certificate, oid: string): { isCritical: boolean; value: Buffer } | null {
  const [body] = membersOf(readDer(certificate.raw));
  const tagged = membersOf(body).find((each) => isTagged(each, 3));
  for (const extension of tagged ? membersOf(membersOf(tagged)[0]) : []) {
    const [id, ...rest] = membersOf(extension);
    if (oidIn(id) === oid) return { isCritical: rest.some(isTrue), value: octetsIn(rest.at(-1)) };
  }
  return null;
}

function isValidAt({ validFromDate, validToDate }: X509Certificate, time: string): boolean {
  const at = Date.parse(time);
  return validFromDate.getTime() <= at && at <= validToDate.getTime();
}

/**
 * Whether the certificate of a token leads up to a trusted certificate: each was issued by the next, which may issue
 * certificates, and all were valid at the stated time. Revocations and name constraints are not checked.
 */
export function isVouchedFor({ signer, certificates, time }: Token, trusted: readonly X509Certificate[]): boolean {
  const isTrusted = (one: X509Certificate) =>
    trusted.some(({ fingerprint256 }) => fingerprint256 === one.fingerprint256);
  const seen = new Set<string>();

  function leads(certificate: X509Certificate, below: number): boolean {
    if (seen.has(certificate.fingerprint256) || !isValidAt(certificate, time)) return false;
    if (isTrusted(certificate)) return true;
    seen.add(certificate.fingerprint256);
    return [...trusted, ...certificates].some(
      (issuer) => isIssuedBy(certificate, issuer, below) && leads(issuer, below + 1),
    );
  }

  return leads(signer, 0);
}

/** @param below how many issuers are between this one and the certificate at the end. */
function isIssuedBy(certificate: X509Certificate, issuer: X509Certificate, below: number): boolean {
  try {
    return certificate.checkIssued(issuer) && mayIssue(issuer, below) && certificate.verify(issuer.publicKey);
  } catch {
    // Its key or its extensions cannot be read.
    return false;
  }
}

function mayIssue(issuer: X509Certificate, below: number): boolean {
  const constraints = extensionOf(issuer, oids.basicConstraints);
  if (!issuer.ca || !constraints) return false;
  const most = membersOf(readDer(constraints.value)).find(isNumber);
  return most === undefined || numberIn(most) >= BigInt(below);
}

import * as asn1 from 'asn1js';

/** A value of ASN.1 as it was read. */
export type Der = asn1.AsnType;

/** Thrown for malformed bytes. */
export class DerError extends Error {
  override name = 'DerError';
}

/** Reads one value in BER or DER, which takes all of the bytes. @throws DerError for no value, or several. */
export function readDer(bytes: Uint8Array): Der {
  const { offset, result } = parsed(bytes);
  if (offset !== bytes.length || result.error !== '') throw new DerError('it is not ASN.1');
  return result;
}

function parsed(bytes: Uint8Array): ReturnType<typeof asn1.fromBER> {
  try {
    // The parser keeps its input, so it must not be part of a shared buffer.
    return asn1.fromBER(Uint8Array.from(bytes));
  } catch {
    // Of most faults it tells in its result, but it throws for some: for a time of another form, for example.
    throw new DerError('it is not ASN.1');
  }
}

/** The bytes of a value, with its tag and length, as they were read. */
export function bytesOf(value: Der): Buffer {
  return Buffer.from(value.valueBeforeDecodeView);
}

/** The values in a sequence, a set, or a tag around others. */
export function membersOf(value: Der | undefined): Der[] {
  if (value instanceof asn1.Sequence || value instanceof asn1.Set || value instanceof asn1.Constructed)
    return value.valueBlock.value as Der[];
  throw new DerError('a value with others in it is missing');
}

/** True for a value with this tag of its context, `[number]`. */
export function isTagged(value: Der | undefined, number: number): boolean {
  return value?.idBlock.tagClass === 3 && value.idBlock.tagNumber === number;
}

export function isSequence(value: Der | undefined): boolean {
  return value instanceof asn1.Sequence;
}

/** An object identifier, as numbers with dots between. */
export function oidIn(value: Der | undefined): string {
  if (!(value instanceof asn1.ObjectIdentifier)) throw new DerError('an object identifier is missing');
  return value.getValue();
}

export function isOctets(value: Der | undefined): boolean {
  return value instanceof asn1.OctetString;
}

export function octetsIn(value: Der | undefined): Buffer {
  if (!(value instanceof asn1.OctetString)) throw new DerError('an octet string is missing');
  return Buffer.from(value.getValue());
}

/** A whole number of any size. */
export function numberIn(value: Der | undefined): bigint {
  if (!(value instanceof asn1.Integer)) throw new DerError('a number is missing');
  return value.toBigInt();
}

export function isNumber(value: Der | undefined): boolean {
  return value instanceof asn1.Integer;
}

export function isTrue(value: Der | undefined): boolean {
  return value instanceof asn1.Boolean && value.valueBlock.value;
}

/** A GeneralizedTime in UTC (RFC 3161, section 2.4.2), as ISO 8601 with milliseconds; smaller fractions are cut off. */
export function timeIn(value: Der | undefined): string {
  const text =
    value instanceof asn1.GeneralizedTime ? Buffer.from(value.valueBlock.valueHexView).toString('latin1') : '';
  const [, year, month, day, hour, minute, second, fraction = ''] =
    /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(?:\.(\d+))?Z$/.exec(text) ?? [];
  const time = `${year}-${month}-${day}T${hour}:${minute}:${second}.${fraction.slice(0, 3).padEnd(3, '0')}Z`;
  const parsed = new Date(time);
  if (Number.isNaN(parsed.getTime()) || parsed.toISOString() !== time) throw new DerError('a time is missing');
  return time;
}

/** A request for a time-stamp token over a hash, with the certificate of its signer (RFC 3161, section 2.4.1). */
export function timeStampQuery(sha256: Buffer, nonce: bigint): Uint8Array<ArrayBuffer> {
  const algorithm = new asn1.Sequence({
    value: [new asn1.ObjectIdentifier({ value: sha256Oid }), new asn1.Null()],
  });
  const imprint = new asn1.Sequence({
    value: [algorithm, new asn1.OctetString({ valueHex: Uint8Array.from(sha256).buffer })],
  });
  const query = new asn1.Sequence({
    value: [new asn1.Integer({ value: 1 }), imprint, asn1.Integer.fromBigInt(nonce), new asn1.Boolean({ value: true })],
  });
  return new Uint8Array(query.toBER());
}

/** SHA-256, as a name of a hash. */
export const sha256Oid = '2.16.840.1.101.3.4.2.1';

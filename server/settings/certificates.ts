import { X509Certificate } from 'node:crypto';

/** The certificates in a text of PEM. @throws RangeError if it has no certificate, or one cannot be read. */
export function certificatesIn(pem: string): X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (blocks.length === 0) throw new RangeError('has no certificate in PEM');
  try {
    return blocks.map((block) => new X509Certificate(block));
  } catch {
    throw new RangeError('has a certificate that cannot be read');
  }
}

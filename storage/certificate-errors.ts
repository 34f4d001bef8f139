const strange = 'a certificate that is not trusted: NODE_EXTRA_CA_CERTS may name a file with its authority';

/** The problems of refused server certificates, by the code of the TLS error. */
export const wrongCertificates: { readonly [code: string]: string } = {
  DEPTH_ZERO_SELF_SIGNED_CERT: strange,
  SELF_SIGNED_CERT_IN_CHAIN: strange,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: strange,
  UNABLE_TO_GET_ISSUER_CERT: strange,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: strange,
  CERT_HAS_EXPIRED: 'a certificate that has expired',
  CERT_NOT_YET_VALID: 'a certificate that is not valid yet',
  ERR_TLS_CERT_ALTNAME_INVALID: 'a certificate of another host',
};

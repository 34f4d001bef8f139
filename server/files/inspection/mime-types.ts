/** Other names of a type, as file-type or people write them, and the name that we use. */
const aliases: Readonly<Record<string, string>> = {
  'application/rar': 'application/vnd.rar',
  'application/x-pdf': 'application/pdf',
  'application/x-gzip': 'application/gzip',
  'application/x-rar': 'application/vnd.rar',
  'application/x-rar-compressed': 'application/vnd.rar',
  'application/x-zip-compressed': 'application/zip',
  'audio/m4a': 'audio/mp4',
  'audio/mp3': 'audio/mpeg',
  'audio/vnd.wave': 'audio/wav',
  'audio/wave': 'audio/wav',
  'audio/x-flac': 'audio/flac',
  'audio/x-m4a': 'audio/mp4',
  'audio/x-wav': 'audio/wav',
  // An animated PNG is a PNG to all that do not animate it.
  'image/apng': 'image/png',
  'image/jpg': 'image/jpeg',
  'image/pjpeg': 'image/jpeg',
  'image/svg': 'image/svg+xml',
  'image/x-icon': 'image/vnd.microsoft.icon',
  'image/x-ms-bmp': 'image/bmp',
  'text/rtf': 'application/rtf',
  'text/xml': 'application/xml',
  'video/avi': 'video/vnd.avi',
  'video/mp1s': 'video/mpeg',
  'video/mp2p': 'video/mpeg',
  'video/x-m4v': 'video/mp4',
  'video/x-matroska': 'video/matroska',
  'video/x-msvideo': 'video/vnd.avi',
};

/** The one name of a type, without parameters and in lower case: `image/jpeg` for `image/jpg`. */
export function canonicalType(mimeType: string): string {
  const name = mimeType.replace(/;.*/s, '').trim().toLowerCase();
  return (Object.hasOwn(aliases, name) ? aliases[name] : undefined) ?? name;
}

/** True when a list of types like `image/png` and `image/*` names a type; null names all. */
export function isAllowed(mimeType: string, allowed: readonly string[] | null): boolean {
  if (allowed === null) return true;
  const type = canonicalType(mimeType);
  return allowed.some((one) =>
    one.endsWith('/*') ? type.startsWith(one.slice(0, -1).toLowerCase()) : canonicalType(one) === type,
  );
}

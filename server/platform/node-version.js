/**
 * The oldest Node that runs this, in words; `engines` in package.json says it to npm. An older one crashes in
 * better-sqlite3, which needs version 10 of Node-API (22.14), or does not take TypeScript as it is and without a
 * warning (22.18, 24.3).
 */
export const neededNode = 'Node 22.18, 24.3 or newer';

/**
 * Whether a Node of this version runs this. JavaScript, and of the old kind, so that one that does not gets to say so.
 */
export function isNewEnough(version = process.versions.node) {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major === 22) return minor >= 18;
  if (major === 24) return minor >= 3;
  return major > 24;
}

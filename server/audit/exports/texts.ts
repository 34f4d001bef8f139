/**
 * The version of what packs and exports hold for readers: how `summary.html`, `README.txt`, CSV and CloudEvents are written
 * (docs/log-format.md). Annals-verify makes them again and compares bytes, so a change to one raises it, and teaches that the
 * new one beside the old.
 */
export const textsVersion = 1;

import { realpathSync } from 'node:fs';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { show } from '../../config/suggest.ts';
import type { SiteSettings } from './settings.ts';

/** Finds values that two sites share but must not. Each problem names its places in the file, and shows no secret. */
export function clashes(sites: readonly SiteSettings[], file: string): string[] {
  const at = (index: number) => `${file}: [${index}]`;
  const named = (index: number) => `the site ${show(sites[index]?.site)} ([${index}])`;
  const problems: string[] = [];
  const directories: string[] = [];
  const seen = new Map<string, { index: number; where: string }>();

  for (const [index, site] of sites.entries()) {
    for (const { key, where, clash } of uniqueIn(site)) {
      const first = seen.get(key);
      if (first) problems.push(`${at(index)}${where} ${clash} ${named(first.index)}${first.where}`);
      else seen.set(key, { index, where: `, ${where.slice(1)}` });
    }
    const directory = truePath(resolve(site.data));
    const other = directories.findIndex((one) => isWithin(one, directory) || isWithin(directory, one));
    if (other >= 0)
      problems.push(`${at(index)}.data: ${relation(directory, directories[other] ?? '')} of ${named(other)}`);
    directories.push(directory);
  }
  return problems;
}

type Unique = { key: string; where: string; clash: string };

/** The values that must be unique: an API key of two sites, for example, would give access to both. */
function uniqueIn({ site, apiKeys, secrets, bucket }: SiteSettings): Unique[] {
  const bucketKey = bucket && `bucket ${bucket.endpoint} ${bucket.name}`;
  return [
    { key: `id ${site}`, where: '.id', clash: `${show(site)} is also the id of` },
    ...apiKeys.map((key, at) => ({ key: `key ${key}`, where: `.apiKeys[${at}]`, clash: 'is also a key of' })),
    ...secrets.map((text, at) => ({ key: `secret ${text}`, where: `.secrets[${at}]`, clash: 'is also a secret of' })),
    ...(bucketKey ? [{ key: bucketKey, where: '.bucket', clash: 'is also the bucket of' }] : []),
  ];
}

function relation(directory: string, other: string): string {
  if (directory === other) return `${directory} is also the data directory`;
  return isWithin(directory, other)
    ? `${directory} is inside of the data directory`
    : `${directory} has the data directory ${other} inside of it, that`;
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`);
}

/** The real path of a file, which need not exist yet. */
function truePath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(truePath(parent), basename(path));
  }
}

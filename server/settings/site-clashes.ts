import { realpathSync } from 'node:fs';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { show } from '../../config/suggest.ts';
import type { SiteSettings } from './settings.ts';

/** What two sites may not have in common, each problem with its place in the file, and no secret shown. */
export function clashes(sites: readonly SiteSettings[], file: string): string[] {
  const at = (index: number) => `${file}: [${index}]`;
  const named = (index: number) => `the site ${show(sites[index]?.site)} ([${index}])`;
  const problems: string[] = [];
  const directories: string[] = [];
  const seen = new Map<string, { index: number; where: string }>();

  /** Whoever knew a text that two sites share would be let in to both. */
  function once(kind: string, text: string, index: number, where: string, what: string): void {
    const first = seen.get(`${kind} ${text}`);
    if (first) problems.push(`${at(index)}${where} ${what} ${named(first.index)}${first.where}`);
    else seen.set(`${kind} ${text}`, { index, where: `, ${where.slice(1)}` });
  }

  for (const [index, { site, data, apiKeys, secrets, bucket }] of sites.entries()) {
    once('id', site, index, '.id', `${show(site)} is also the id of`);
    for (const [place, key] of apiKeys.entries()) once('key', key, index, `.apiKeys[${place}]`, 'is also a key of');
    for (const [place, secret] of secrets.entries())
      once('secret', secret, index, `.secrets[${place}]`, 'is also a secret of');
    if (bucket) once('bucket', `${bucket.endpoint} ${bucket.name}`, index, '.bucket', 'is also the bucket of');
    const directory = truePath(resolve(data));
    const other = directories.findIndex((one) => isWithin(one, directory) || isWithin(directory, one));
    if (other >= 0)
      problems.push(`${at(index)}.data: ${relation(directory, directories[other] ?? '')} of ${named(other)}`);
    directories.push(directory);
  }
  return problems;
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

/** The path under which the system knows a file, which need not be there yet. */
function truePath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(truePath(parent), basename(path));
  }
}

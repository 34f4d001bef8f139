import { existsSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { isObject } from '../../config/schema.ts';
import { readBoolean, readEndpoint } from '../../server/settings/readers.ts';
import { bucketDefaults, type Settings, UsageError } from '../../server/settings/settings.ts';
import { StartError } from '../../server/writer/writer.ts';
import { type NamedFiles, openBucketFiles } from '../../storage/bucket/files.ts';
import { messageOf } from '../../storage/errors.ts';
import { openFolderFiles } from '../../storage/folder-files.ts';
import { erasuresName } from './erasures-file.ts';
import { chainOf, readName } from './keeping.ts';
import { segmentsName } from './segment-objects.ts';
import { type BackupSource, fileSource } from './sources.ts';

type Reach = { endpoint: string; region: string; accessKey: string; secretKey: string; pathStyle: boolean };

/** Whether a word names a bucket: `s3://BUCKET/PREFIX`. */
export function isBucket(word: string): boolean {
  return word.startsWith('s3://');
}

/**
 * Opens the place of a series of backups: a folder, or a bucket. The settings of the bucket are in the file of `--s3`,
 * else they are the settings of uploaded files.
 *
 * @param s3 the file that `--s3` names.
 */
export function openPlace(word: string, { settings, s3 }: { settings: Settings; s3: string | undefined }): NamedFiles {
  if (!isBucket(word)) {
    if (s3 !== undefined) throw new UsageError('--s3 goes with a bucket, s3://BUCKET/PREFIX');
    return openFolderFiles(resolve(word));
  }
  const [, bucket = '', prefix = ''] = /^s3:\/\/([a-z\d][a-z\d.-]+[a-z\d])(?:\/(.*?))?\/*$/.exec(word) ?? [];
  if (bucket === '') throw new UsageError(`a bucket is written as s3://BUCKET/PREFIX, got ${JSON.stringify(word)}`);
  const reach = s3 === undefined ? settings.bucket : readReach(s3);
  if (!reach)
    throw new UsageError(
      `${word} needs the address and keys of its server: --s3 FILE, or ANNALS_S3_ENDPOINT and the other settings of uploaded files`,
    );
  const { endpoint, region, accessKey, secretKey, pathStyle } = reach;
  return openBucketFiles(
    { endpoint, region, accessKey, secretKey, pathStyle, bucket },
    prefix === '' ? '' : `${prefix}/`,
  );
}

const texts = ['endpoint', 'accessKey', 'secretKey', 'region'] as const;

/** Reads the file of `--s3`: an object with the settings of a bucket. Messages never show a value. */
function readReach(path: string): Reach {
  const found = readJson(path);
  const problems: string[] = [];
  const known = [...texts, 'pathStyle'];
  const given = isObject(found) ? found : {};
  for (const name of Object.keys(given)) {
    if (!known.includes(name))
      problems.push(`--s3: ${path} has an unknown ${JSON.stringify(name)}; known: ${known.join(', ')}`);
  }
  const text = (name: (typeof texts)[number], otherwise?: string): string => {
    const value = given[name] ?? otherwise;
    if (typeof value === 'string' && value !== '') return value;
    problems.push(`--s3: ${path} needs a text as ${name}`);
    return '';
  };
  const { pathStyle: style = bucketDefaults.pathStyle } = given;
  const reach = {
    endpoint: text('endpoint'),
    accessKey: text('accessKey'),
    secretKey: text('secretKey'),
    region: text('region', bucketDefaults.region),
  };
  if (problems.length > 0) throw new UsageError(problems.join('\n'));
  try {
    const endpoint = readEndpoint(reach.endpoint, `--s3: endpoint of ${path}`);
    return { ...reach, endpoint, pathStyle: readBoolean(String(style), `--s3: pathStyle of ${path}`) };
  } catch (error) {
    throw new UsageError(messageOf(error));
  }
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    // A message of the parser may show a part of the text, which holds a secret.
    throw new UsageError(`--s3: ${error instanceof SyntaxError ? `${path} is not JSON` : messageOf(error)}`);
  }
}

/** A backup to restore, the rounds that go on from it, and the list of erasures beside it; null without one. */
type RestoreInput = {
  source: BackupSource;
  rounds: BackupSource[];
  erasures: { name: string; text: string } | null;
  close: () => void;
};

/**
 * Finds the backup that a word names: a file, a backup of a series, or the newest of a series in a folder or a bucket.
 *
 * @throws UsageError, StartError if there is no such backup.
 */
export async function choose(word: string, given: Parameters<typeof openPlace>[1]): Promise<RestoreInput> {
  const isOne = readName(basename(word)) !== null;
  const isFolder = !isBucket(word) && existsSync(word) && statSync(word).isDirectory();
  if (!isOne && !isFolder && !isBucket(word))
    return { source: fileSource(word), rounds: [], erasures: null, close() {} };
  if (isOne && !isBucket(word)) fileSource(word);
  const parent = isBucket(word) ? word.slice(0, word.lastIndexOf('/')) : dirname(word);
  const place = openPlace(isOne ? parent : word, given);
  try {
    const all = await place.list();
    const name = isOne ? basename(word) : all.findLast((one) => readName(one) !== null);
    const kept = name === undefined ? null : readName(name);
    if (name === undefined || !kept) throw new StartError(`${place.name} has no backup`);
    const list = await place.read(erasuresName);
    const text = list && Buffer.concat(await list.toArray()).toString();
    const sourceOf = (one: string): BackupSource => ({
      name: one,
      open: async () => {
        const stream = await place.read(one);
        if (!stream) throw new StartError(`${place.name} has no backup ${one}`);
        return stream;
      },
      segments: place.folder(segmentsName),
    });
    const rounds = chainOf(kept, all).map((round) => sourceOf(round.name));
    const erasures = text === null ? null : { name: `${erasuresName} in ${place.name}`, text };
    return { source: sourceOf(name), rounds, erasures, close: place.close };
  } catch (error) {
    place.close();
    throw error;
  }
}

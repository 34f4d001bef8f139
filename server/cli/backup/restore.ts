import { join, resolve } from 'node:path';
import { counted } from '../../../config/counted.ts';
import { openLogToRead } from '../../../events/log-file.ts';
import { readLog } from '../../../events/log-reader.ts';
import { withVault } from '../../../events/vault.ts';
import { logFile } from '../../../projections/files.ts';
import { verifyDirectory } from '../../../projections/verify.ts';
import { openBlobStore } from '../../../storage/blob-store.ts';
import { blobSettingsOf } from '../../files/blobs/store.ts';
import { showProgress } from '../../platform/progress.ts';
import { readMoment } from '../../queries/moments.ts';
import { readSettings } from '../../settings/command.ts';
import { StartError } from '../../writer/writer.ts';
import { ofFlag } from '../events.ts';
import { readIdentities } from './encryption.ts';
import { namedIn } from './pack.ts';
import { cutLog, eraseAgain, type LaterErasure, restoreClaims } from './rewriting.ts';
import { fileSource, type Reading } from './sources.ts';
import { headOf, moveOut, sealsOf, takeEmpty, unpackFiles, unpackLog } from './unpack.ts';

/** `annals restore BACKUP --data DIR`: exit 0 restored, 1 the backup is not sound, 2 could not run. */
export async function restore(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { settings, flags, words } = readSettings(args, environment, {
    settings: ['data'],
    flags: { to: 'string', identity: 'string' },
    words: ['BACKUP'],
  });
  const [word = ''] = words;
  const reading: Reading = { source: fileSource(word), identities: await readIdentities(flags.identity) };
  const directory = resolve(settings.data);
  const folder = takeEmpty(directory);

  const manifest = await unpackLog(reading, folder);
  const broken = verifyDirectory(folder, true, {
    log: showProgress('reading the log'),
    replay: showProgress('replaying the log'),
  });
  if (broken.finding !== null) {
    print(`NOT SOUND: ${broken.finding}`);
    return 1;
  }
  const seals = sealsOf(folder);
  const lines: string[] = [];
  const whole = headOf(folder);
  const position = flags.to === undefined ? whole.size : positionIn(folder, flags.to);
  const later: LaterErasure[] = position < whole.size ? await cutLog(folder, position, seals) : [];
  const erased = await eraseAgain(folder, later, seals);
  if (position < whole.size) restoreClaims(folder);

  const store = openBlobStore(blobSettingsOf({ data: folder, bucket: settings.bucket }));
  const needed = namedIn(folder);
  let kept: Set<string>;
  try {
    await store.prepare(whole.log);
    kept = await unpackFiles(reading, { needed, store, progress: showProgress('restoring files') });
  } finally {
    store.close();
  }
  const signed = signedSize(folder, whole.log);
  await moveOut(folder, directory);

  const missing = [...needed].filter((sha256) => !kept.has(sha256)).length;
  print(`restored ${counted(headSize(directory), 'event')} and ${counted(kept.size, 'file')} in ${directory}`);
  if (erased > 0) lines.push(`erased again what ${counted(erased, 'later erasure')} had erased`);
  if (missing > 0)
    lines.push(
      `note: ${counted(missing, 'file was', 'files were')} missing or altered when the backup was made: annals blobs verify names them`,
    );
  if (position < signed)
    lines.push(
      `note: events up to ${signed} were signed, and auditors may have seen them. Before the first start: annals rebuild --accept-lost-events --reason TEXT`,
    );
  lines.push(
    `note: the backup is of ${manifest.takenAt}, with the log up to event ${manifest.size}: it cannot know what was erased after that`,
  );
  for (const line of lines) print(line);
  return 0;
}

/** The position of a moment. @throws UsageError for one that the log of the backup does not reach. */
function positionIn(folder: string, text: string): number {
  const db = openLogToRead(logFile(folder));
  try {
    const log = readLog(db);
    const position = ofFlag(() => readMoment(text, '--to', { events: log, clock: { believed: Date.now } }));
    if (position === 0) throw new StartError('--to is before the first event of the log: there is nothing to restore');
    return position;
  } finally {
    db.close();
  }
}

/** The number of events that the newest checkpoint of the signing key covers; 0 without one. */
function signedSize(folder: string, logId: string): number {
  return withVault(join(folder, 'vault.db'), (keys) =>
    Math.max(0, ...keys.signed().flatMap(({ log, size }) => (log === logId ? [size] : []))),
  );
}

function headSize(directory: string): number {
  return headOf(directory).size;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

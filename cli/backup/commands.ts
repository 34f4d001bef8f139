import { type CliCommand, command, sameBucket } from '../command.ts';
import { backupFlags, restoreFlags } from '../flags.ts';

/** The two commands that are called `annals verify`: of a data directory, and of a backup. */
const verifyTexts = {
  summary: 'check the log, and that the read tables equal a replay of it',
  usage: `annals verify [--config FILE] [--data DIR]
       annals verify BACKUP [--identity FILE] [--s3 FILE]

Reads the whole log and checks positions, versions, times, the Merkle tree, the commitments to all payloads, and the claims.
Replays it and compares the read tables row by row. Checks it against every signed checkpoint: those of the signing key, in
the log and in the store of uploaded files. Names the keys that were disowned. If vault.db exists, its key must have sealed
the head of the log, and all password hashes must be those that were set. The last line says how many events are signed, by
which key, and whether uploaded files remain to be checked. Also works while a service runs, and on a read-only copy. Changes
nothing except altered.json: if all is sound the file is removed, so that a log that was known to be altered is signed again.

BACKUP is a file of annals backup, which is then checked in the same way, with the uploaded files in it.

${sameBucket}

Exit codes: 0 sound. 1 tampered with or different: it contradicts what was signed, or itself; the first bad event is named.
2 undecided: could not run, something is missing (a segment, the anchored checkpoints, in a log older than a minute the
signature by a known key), or only vault.db says that a key was disowned. annals-verify ends in the same way.`,
};
const verifyLog = command({
  ...verifyTexts,
  settings: ['config', 'data'],
  run: async (given) => (await import('../log/verify.ts')).verify(given),
});
const verifyBackup = command({
  ...verifyTexts,
  settings: ['config', 'data'],
  flags: { identity: 'string', s3: 'string' },
  words: ['BACKUP'],
  run: async (given) => (await import('./verify-backup.ts')).verifyBackup(given),
});

/** `annals verify [BACKUP]`: without a word it is about a data directory. */
export const verify: CliCommand = {
  ...verifyLog,
  run: (args, environment) => {
    const isOfBackup = args[0] !== undefined && !args[0].startsWith('-');
    return (isOfBackup ? verifyBackup : verifyLog).run(args, environment);
  },
};

/** The commands about backups, as `commands.ts` lists them. */
export const backupCommands: Record<string, CliCommand> = {
  backup: command({
    summary: 'save a data directory, also while a service runs',
    usage: `annals backup --out FILE [--force] [--recipient KEY]… [--data DIR]
       annals backup --to FOLDER|s3://BUCKET/PREFIX [--recipient KEY]… [--plain] [--s3 FILE] [--every TIME] [--follow]
              [--keep RULES] [--data DIR]

Saves log.db, vault.db, the uploaded files and the anchored checkpoints as of one moment in one tar archive. Also works while a
service runs, which is not held up. The log is verified before, the file after it is written. A backup holds password hashes
and keys: keep it where only you can read it, or encrypt it.

  --out FILE       the file to write; it appears only when it is whole
  --force          overwrite an existing file
  --recipient KEY  encrypt it to this public key of age (age1…); can be repeated
  --to PLACE       add a backup to a series in a folder or a bucket, with a signed list of erasures and the segments of the log
                   beside it; segments that are there are not copied again
  --plain          do not encrypt what goes to a bucket
  --s3 FILE        how the bucket is reached: JSON with endpoint, accessKey, secretKey, and optionally region and pathStyle
                   (default: the bucket settings of uploaded files, ANNALS_S3_…)
  --every TIME     add one at once and then at intervals, such as 1h, until a signal; a failure is a warning
  --follow         a backup, and then rounds with the events since, every 10 seconds or as --every says, until a signal
  --keep RULES     remove older backups but the newest of each of the last hours, days or weeks, such as 24h,7d,8w

Exit codes: 0 saved. 1 the log is not sound, and nothing was saved; or files were missing, and the rest was saved. 2 wrong usage,
or could not run.`,
    settings: ['data'],
    flags: backupFlags,
    run: async (given) => (await import('./backup.ts')).backup(given),
  }),
  restore: command({
    summary: 'restore a data directory from a backup',
    usage: `annals restore BACKUP [--to MOMENT] [--identity FILE] [--erasures FILE] [--s3 FILE] [--data DIR]

BACKUP is a file of annals backup; or a folder or s3://BUCKET/PREFIX with a series of them, of which the newest is taken; or one
of a series: s3://BUCKET/PREFIX/NAME. The data directory must be empty, or missing. The log is verified before anything is put
in its place. Uploaded files go to the bucket of the settings, if there is one.

  --to MOMENT      only the events up to this moment: a position, a time such as 2026-03-03T12:00:00Z, or a day such as
                   2026-03-03 (UTC), which means its end
  --identity FILE  the private key of an encrypted backup, as age-keygen writes it
  --erasures FILE  a list of erasures, as it is beside the backups of a series: what it names is erased again. That of the
                   series itself is always read
  --s3 FILE        as for annals backup

Exit codes: 0 restored. 1 the backup is not sound. 2 wrong usage, or could not run.`,
    settings: ['data'],
    flags: restoreFlags,
    words: ['BACKUP'],
    run: async (given) => (await import('./restore.ts')).restore(given),
  }),
};

import { createHash } from 'node:crypto';
import { createWriteStream, existsSync, renameSync, rmSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { basename, dirname, join, resolve } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { counted } from '../../config/counted.ts';
import { briefHolders } from '../../server/running/directory.ts';
import type { CommandLine } from '../../server/settings/command.ts';
import { loadConfiguration } from '../../server/settings/configuration.ts';
import { type Settings, UsageError } from '../../server/settings/settings.ts';
import { UnwritableError } from '../../storage/data-directory.ts';
import { lockDirectory } from '../../storage/lock.ts';
import { existingLog, hasChanged } from '../data-directory.ts';
import type { bundleFlags, exportFlags } from '../flags.ts';
import { callAsOperator, heedingSignals, type OperatorRequest, reportRefusal } from '../operator-connection.ts';
import { isWritable } from '../read-only-copy.ts';

/** `annals export --out FILE.zip`: exit 0 saved, 1 refused, 2 could not run. */
export async function exportLog({ settings, flags }: CommandLine<typeof exportFlags>): Promise<number> {
  const { from, to, format, collection, stream, type, actor } = flags;
  const query = queryOf({ from, to, format, collection, stream, type, actor }, flags.since);
  const order = { path: `/api/audit/export${query}`, ...whyOf(flags) };
  const praise: Praise = ({ headers }, file) => {
    const [first, last] = String(headers['annals-range']).split('-');
    const count = Number(headers['annals-events']);
    return `saved ${counted(count, 'event')} of the positions ${first} to ${last} as ${format ?? 'ndjson'} in ${file}`;
  };
  return save(settings, flags, { command: 'annals export', order, praise });
}

/** `annals bundle COLLECTION/ID --out FILE.zip`: exit 0 saved, 1 refused, 2 could not run. */
export async function saveBundle({ settings, flags, words }: CommandLine<typeof bundleFlags>): Promise<number> {
  const [stream = ''] = words;
  const parts = stream.split('/');
  const isStream = parts.every((part) => part !== '') && parts.length === (parts[0] === 'accounts' ? 3 : 2);
  if (!isStream) {
    throw new UsageError(
      `COLLECTION/ID must be like posts/<id>, globals/<slug> or accounts/<collection>/<id>, got ${JSON.stringify(stream)}`,
    );
  }
  const asked = { files: flags['no-files'] ? 'false' : undefined, complete: flags.complete ? 'true' : undefined };
  const path = `/api/audit/bundles/${parts.map(encodeURIComponent).join('/')}${queryOf(asked, flags.since)}`;
  const praise: Praise = (_response, file) => `saved the evidence pack of ${stream} in ${file}`;
  return save(settings, flags, { command: 'annals bundle', order: { path, ...whyOf(flags) }, praise });
}

/** The reason for a call. In a header, so other characters than ASCII are encoded (RFC 8187). */
function whyOf({ reason }: { reason?: string | undefined }): Pick<OperatorRequest, 'reason'> {
  return reason === undefined ? {} : { reason: `UTF-8''${encodeURIComponent(reason)}` };
}

function queryOf(values: Record<string, string | undefined>, since: readonly string[] = []): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) if (value !== undefined) query.append(name, value);
  for (const size of since) query.append('since', size);
  return query.size === 0 ? '' : `?${query}`;
}

type Praise = (response: IncomingMessage, file: string) => string;

/** Saves an answer. The file gets its name when it is complete. */
async function save(
  settings: Settings,
  { out, force }: { out?: string | undefined; force?: boolean | undefined },
  { command, order, praise }: { command: string; order: OperatorRequest; praise: Praise },
): Promise<number> {
  if (out === undefined) throw new UsageError('--out is missing: the file to write');
  const file = resolve(out);
  refuseFile(file, force === true);
  refuseUnwritable(existingLog(settings), command);
  const partial = join(dirname(file), `.${basename(file)}.${process.pid}.partial`);
  const digest = createHash('sha256');
  let bytes = 0;
  let said = '';
  const stopping = new AbortController();
  const receive = async (response: IncomingMessage) => {
    const passing = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        digest.update(chunk);
        bytes += chunk.length;
        done(null, chunk);
      },
    });
    // Readable by its owner alone, as it may hold personal data.
    await pipeline(response, passing, createWriteStream(partial, { flags: 'wx', mode: 0o600, flush: true }));
    refuseFile(file, force === true);
    renameSync(partial, file);
    const [size, root] = String(response.headers['annals-checkpoint']).split(' ');
    said =
      `${praise(response, out)} (${bytes} bytes)\n` +
      `SHA-256 of the file ${digest.digest('hex')}\nsigned: size ${size}, root ${root}\n`;
  };
  try {
    const answered = await heedingSignals(
      () => stopping.abort(),
      () => carryOut(settings, { ...order, take: { signal: stopping.signal, receive } }),
    );
    if (answered.status !== 200) return reportRefusal(answered);
    process.stdout.write(said);
    return 0;
  } finally {
    rmSync(partial, { force: true });
  }
}

function refuseUnwritable(directory: string, command: string): void {
  if (isWritable(directory)) return;
  throw new UnwritableError(
    `${command} records an event, and nothing can be written to ${directory}: annals verify, history and events only read it; ` +
      'or make a copy that can be written',
  );
}

function refuseFile(file: string, isForced: boolean): void {
  if (!existsSync(dirname(file))) throw new UsageError(`--out: there is no folder ${dirname(file)}`);
  if (existsSync(file) && !isForced) throw new UsageError(`--out: ${file} is there; --force overwrites it`);
}

async function carryOut(settings: Settings, order: OperatorRequest) {
  const loaded = await loadConfiguration(settings.config);
  return callAsOperator({ settings, loaded }, order, async () => {
    // A service that starts with another configuration records that, which an export should not cause.
    const lock = lockDirectory(resolve(settings.data), briefHolders.export, 0);
    try {
      if (hasChanged(loaded.model, settings.data)) {
        throw new UsageError(
          `${loaded.path} is not the configuration that the log ends with: name that one with --config, or start the service once`,
        );
      }
    } finally {
      lock.release();
    }
  });
}

import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';

/** The settings of a service for a bucket of its own; `stop` ends the server. */
export type S3 = { environment: Record<string, string>; stop: () => void };

const script = fileURLToPath(new URL('../test/s3/radosgw.sh', import.meta.url));

/** The S3 server that `TEST_S3_…` names, else one that is started here; a text with the reason if that fails. */
export async function startS3(folder: string): Promise<S3 | string> {
  const given = process.env.TEST_S3_ENDPOINT;
  if (given) return { environment: environmentOf(process.env as Record<string, string>), stop: () => {} };
  const { status, stdout, stderr } = spawnSync('bash', [script, 'up', folder], { encoding: 'utf8' });
  if (status !== 0) return `test/s3/radosgw.sh could not start one: ${stderr.trim().split('\n').at(-1)}`;
  // The output has lines for a shell: export NAME=VALUE
  const printed = Object.fromEntries(
    [...stdout.matchAll(/^export (\w+)=(.*)$/gm)].map(([, name, value]) => [name, value]),
  );
  return { environment: environmentOf(printed), stop: () => spawnSync('bash', [script, 'down', folder]) };
}

function environmentOf(from: Record<string, string | undefined>): Record<string, string> {
  return {
    ANNALS_S3_ENDPOINT: String(from.TEST_S3_ENDPOINT),
    ANNALS_S3_ACCESS_KEY: String(from.TEST_S3_ACCESS_KEY),
    ANNALS_S3_SECRET_KEY: String(from.TEST_S3_SECRET_KEY),
    ANNALS_S3_BUCKET: `bench-${randomUUID()}`,
  };
}

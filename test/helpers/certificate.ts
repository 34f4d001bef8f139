import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A self-signed certificate of 127.0.0.1, and its file; null without openssl. */
export function makeCertificate(folder: string): { file: string; cert: string; key: string } | null {
  const file = join(folder, 'certificate.pem');
  const keyFile = join(folder, 'certificate.key');
  const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
  const making = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-keyout', keyFile, '-out', file];
  if (spawnSync('openssl', [...making, ...subject]).status !== 0) return null;
  return { file, cert: readFileSync(file, 'utf8'), key: readFileSync(keyFile, 'utf8') };
}

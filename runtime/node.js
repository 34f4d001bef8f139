// This folder is JavaScript without new syntax, so that it runs on a Node that is too old for the rest.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';
import { isNewEnough, neededNode } from '../server/platform/node-version.js';

/** The Debian packages of the libraries that Node is linked against. */
const packages = { 'libatomic.so.1': 'libatomic1', 'libgcc_s.so.1': 'libgcc-s1', 'libstdc++.so.6': 'libstdc++6' };

/** The executable to run on: this Node or, if it is too old, the downloaded one. Without one, the process ends. */
export function chooseNode() {
  if (isNewEnough()) return process.execPath;
  const installed = findInstalled();
  const problem = problemOf(installed);
  if (!problem) return installed.file;
  console.error(problem);
  process.exit(2);
}

/**
 * The Node that `npm ci` has downloaded (install.js), unless another version is required by now.
 *
 * @returns {{ version: string, file: string } | null}
 */
export function findInstalled() {
  for (const [name, version] of Object.entries(manifestOf('.').optionalDependencies)) {
    const folder = `./node_modules/${name}`;
    const manifest = manifestOf(folder);
    if (manifest?.version === version) {
      return { version, file: fileURLToPath(new URL(`${folder}/${manifest.bin.node}`, import.meta.url)) };
    }
  }
  return null;
}

/** The reason why the downloaded Node cannot run, with the remedy, in one line; null if it can. */
export function problemOf(installed) {
  const told = `Annals needs ${neededNode}; this is ${process.version}`;
  if (!installed) {
    return `${told}, and npm ci has installed none for ${process.platform}-${process.arch}: run npm ci again, or install such a Node`;
  }
  const { status, signal, stderr, error } = spawnSync(installed.file, ['--version'], { encoding: 'utf8' });
  if (status === 0) return null;
  const [reason] = (stderr || error?.message || `it ended with ${signal ?? status}`).trim().split('\n');
  const [, library] = /loading shared libraries: (\S+):/.exec(reason) ?? [];
  const mending = packages[library] ? `apt-get install ${packages[library]}` : 'install the package that has it';
  const what = library ? `lacks ${library}: ${mending}` : `does not start: ${reason}`;
  return `${told}, and Node ${installed.version}, which npm ci installed, ${what}`;
}

/**
 * Continues on another Node with these arguments: in place of this process if possible (from 22.15 on, but not on
 * Windows), else as a child process, to which this process passes signals, and with whose exit it ends.
 *
 * @param {(() => void) | null} [atEnd] is called when the other Node has ended. With it, this process always stays the
 * parent.
 */
export function handOver(file, args, atEnd) {
  if (!atEnd && process.execve && process.platform !== 'win32') process.execve(file, [file, ...args], process.env);
  endWithParent();
  let child;
  for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
  child = spawn(file, args, { stdio: 'inherit' });
  child.on('exit', (code, signal) => {
    atEnd?.();
    if (signal === null) process.exit(code);
    process.exitCode = 128 + constants.signals[signal];
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

/**
 * Ends this process if its parent dies. Between npm and a script there is a shell, which passes no signals on, or a
 * parent as above, which can be killed. Without its parent, a process would continue and keep its port and its data.
 * (On Windows this cannot be detected.)
 */
export function endWithParent() {
  const { ppid } = process;
  const timer = setInterval(() => {
    if (process.ppid === ppid) return;
    clearInterval(timer);
    process.kill(process.pid, 'SIGTERM');
  }, 500).unref();
}

function manifestOf(folder) {
  const file = new URL(`${folder}/package.json`, import.meta.url);
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : null;
}

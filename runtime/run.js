import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chooseNode, handOver } from './node.js';

// node runtime/run.js ARGUMENTS… is node ARGUMENTS…, on a Node that is new enough.
const [first = '', ...rest] = process.argv.slice(2);
const file = chooseNode();
endWithParent();
if (file !== process.execPath) handOver(file, process.argv.slice(1));
else if (first.startsWith('-')) handOver(file, process.argv.slice(2));
else {
  process.argv = [file, resolve(first), ...rest];
  await import(pathToFileURL(resolve(first)).href);
}

/**
 * Between npm and this there is a shell, which passes no signal on, or this file on another Node, which can be killed. Nobody
 * would end what has lost its parent, and it would keep its port and its data. (On Windows nothing tells.)
 */
function endWithParent() {
  const { ppid } = process;
  const timer = setInterval(() => {
    if (process.ppid === ppid) return;
    clearInterval(timer);
    process.kill(process.pid, 'SIGTERM');
  }, 500).unref();
}

import { findBundle } from './bundle.js';
import { chooseNode, endWithParent, handOver } from './node.js';

// node runtime/annals.js ARGUMENTS… runs annals ARGUMENTS… on a Node that is new enough, from the bundle of the
// checkout if it is up to date, else from the sources. node cli/main.js ARGUMENTS… always runs the sources.
const file = chooseNode();
if (file === process.execPath) {
  endWithParent();
  await import(findBundle() ?? '../cli/main.js');
} else handOver(file, process.argv.slice(1));

import { chooseNode, handOver } from './node.js';

// node runtime/run.js ARGUMENTS… runs node ARGUMENTS… on a Node that is new enough.
handOver(chooseNode(), process.argv.slice(2));

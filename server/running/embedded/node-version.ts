import { packageName } from '../../../config/package-name.ts';
import { isNewEnough, neededNode } from '../../platform/node-version.js';

// better-sqlite3 crashes an older Node without a word. An import of this module before all others fails with a message
// instead.
if (!isNewEnough()) throw new Error(`${packageName}/server needs ${neededNode}; this is ${process.version}`);

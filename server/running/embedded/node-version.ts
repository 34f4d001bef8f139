import { packageName } from '../../../config/package-name.ts';
import { isNewEnough, neededNode } from '../../platform/node-version.js';

// better-sqlite3 crashes an older Node silently. This module is imported before all others, and fails with a message.
if (!isNewEnough()) throw new Error(`${packageName}/server needs ${neededNode}; this is ${process.version}`);

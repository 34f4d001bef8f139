import { runBatch } from '../../helpers/batches.ts';

runBatch('long/crash-to-http');

import { runBatch } from '../helpers/batches.ts';

runBatch('contract');

import { runBatch } from '../../helpers/batches.ts';

runBatch('long/faults');

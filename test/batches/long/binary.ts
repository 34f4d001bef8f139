import { runBatch } from '../../helpers/batches.ts';

runBatch('long/binary');

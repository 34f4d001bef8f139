import { runBatch } from '../helpers/batches.ts';

runBatch('postgres');

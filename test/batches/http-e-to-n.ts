import { runBatch } from '../helpers/batches.ts';

runBatch('http-e-to-n');

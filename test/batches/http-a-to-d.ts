import { runBatch } from '../helpers/batches.ts';

runBatch('http-a-to-d');

import { runBatch } from '../helpers/batches.ts';

runBatch('rest-h-to-z');

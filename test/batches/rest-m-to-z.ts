import { runBatch } from '../helpers/batches.ts';

runBatch('rest-m-to-z');

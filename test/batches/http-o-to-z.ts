import { runBatch } from '../helpers/batches.ts';

runBatch('http-o-to-z');

import { runBatch } from '../helpers/batches.ts';

runBatch('rest-a-to-g');

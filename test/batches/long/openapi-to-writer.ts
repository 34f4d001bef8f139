import { runBatch } from '../../helpers/batches.ts';

runBatch('long/openapi-to-writer');

// It closes the browser after all files of this process.
import '../../helpers/browser.ts';
import { runBatch } from '../../helpers/batches.ts';

runBatch('long/admin-i-to-z');

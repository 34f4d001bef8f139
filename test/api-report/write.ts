import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { apiReports } from './reports.ts';

// npm run api-report: writes the reports of the public types anew. Look at what changed: it is a change of the API.
for (const [name, text] of apiReports()) writeFileSync(join(import.meta.dirname, name), text);

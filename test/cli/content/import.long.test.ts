import { describe, it } from 'node:test';
import { runCommand, temporaryFolder, writeConfig } from '../../helpers/service.ts';
import { importAlone } from './opening.ts';

const fields = [
  { name: 'title', type: 'text', required: true },
  { name: 'slug', type: 'text', unique: true },
];

describe('annals import', () => {
  it('opens the directory itself where no service runs, as a process, and not for a dry run of what is not there', async (t) => {
    const folder = temporaryFolder(t);
    await importAlone(folder, writeConfig(folder, { collections: [{ slug: 'notes', fields }] }), runCommand);
  });
});

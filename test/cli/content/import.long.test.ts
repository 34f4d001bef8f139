import { describe, it } from 'node:test';
import { runCommand, temporaryFolder, writeConfig } from '../../helpers/service.ts';
import { importAlone } from './opening.ts';

const fields = [
  { name: 'title', type: 'text', required: true },
  { name: 'slug', type: 'text', unique: true },
];

describe('annals import', () => {
  it('opens the directory itself if no service runs, but not for a dry run without a directory', async (t) => {
    const folder = temporaryFolder(t);
    await importAlone(folder, writeConfig(folder, { collections: [{ slug: 'notes', fields }] }), runCommand);
  });
});

/** The outcome of one check. `trouble`: to be mended; `note`: something is not set up, or could not be checked. */
export type DoctorFinding = { check: CheckName; status: 'ok' | 'note' | 'trouble'; message: string };

/** The checks, in their order. */
export const checkNames = [
  'disk room',
  'fsync',
  'file system',
  'clock',
  'vault',
  'checkpoints',
  'file modes',
  'open files',
  'secrets',
  'base URL',
  'mail',
  'indexes',
] as const;

/** The checks of a log in PostgreSQL, which come after the others. */
export const postgresCheckNames = [
  'log servers',
  'log settings',
  'log standbys',
  'log role',
  'log clock',
  'log lock',
  'log size',
  'nodes',
] as const;

type CheckName = (typeof checkNames)[number] | (typeof postgresCheckNames)[number];

export function ok(check: CheckName, message: string): DoctorFinding {
  return { check, status: 'ok', message };
}

export function note(check: CheckName, message: string): DoctorFinding {
  return { check, status: 'note', message };
}

export function trouble(check: CheckName, message: string): DoctorFinding {
  return { check, status: 'trouble', message };
}

/**
 * How long tests wait for what has to come, in milliseconds: a minute, for a machine may be busy. With TEST_PATIENCE so many seconds, for
 * faults that are put in, of which many end in such a wait.
 */
export const patience = Number(process.env.TEST_PATIENCE ?? 60) * 1000;

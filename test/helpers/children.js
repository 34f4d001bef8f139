import { readdirSync, readFileSync } from 'node:fs';

/**
 * Seconds of the CPU that the children of this process have taken, with theirs that have ended; Node tells only those
 * of the process itself. 0 where the system is not Linux.
 */
export function childrenSeconds() {
  if (process.platform !== 'linux') return 0;
  const [, , ...ended] = timesOf('self');
  return living().reduce((sum, child) => sum + sumOf(timesOf(child)), sumOf(ended)) / 100;
}

/** The children that run, whichever thread has started them. */
function living() {
  const threads = readdirSync('/proc/self/task');
  return threads.flatMap((thread) => read(`/proc/self/task/${thread}/children`).split(' ').filter(Boolean));
}

/**
 * In hundredths of a second: user and system, and those of the children that have ended; nothing of a process that is
 * gone.
 */
function timesOf(process) {
  // Behind the name of the program, which may hold anything, from field 3 on of proc_pid_stat(5): 14 to 17.
  const fields = read(`/proc/${process}/stat`).split(') ').at(-1).split(' ');
  return fields.slice(11, 15).map(Number);
}

function read(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

const sumOf = (numbers) => numbers.reduce((sum, number) => sum + number, 0);

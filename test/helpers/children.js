import { readdirSync, readFileSync } from 'node:fs';

/**
 * CPU seconds that the children of this process have taken, with those of their children that have ended; Node reports
 * only the process itself. 0 on systems other than Linux.
 */
export function childrenSeconds() {
  if (process.platform !== 'linux') return 0;
  const [, , ...ended] = timesOf('self');
  return living().reduce((sum, child) => sum + sumOf(timesOf(child)), sumOf(ended)) / 100;
}

/** The running children, of all threads of this process. */
function living() {
  const threads = readdirSync('/proc/self/task');
  return threads.flatMap((thread) => read(`/proc/self/task/${thread}/children`).split(' ').filter(Boolean));
}

/**
 * In hundredths of a second: user and system time of a process, and those of its children that have ended; nothing if
 * the process is gone.
 */
function timesOf(process) {
  // The fields 14 to 17 of proc_pid_stat(5). They are counted from field 3 on, behind the name of the program, which
  // may hold any character.
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

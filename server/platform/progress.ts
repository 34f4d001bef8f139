import type { Progress } from '../../projections/start/rebuild.ts';

/** Shows the progress of long work: a bar that redraws itself on a terminal, else a plain line every few seconds. */
export function showProgress(what: string, stream: NodeJS.WriteStream = process.stderr): Progress {
  let started = 0;
  let shown = 0;
  return (done, total) => {
    const now = Date.now();
    started ||= now;
    const isLast = done >= total;
    if (!isLast && now - (shown || started) < (stream.isTTY ? 100 : 5000)) return;
    // Short work needs no line.
    if (isLast && shown === 0 && now - started < 1000) return;
    shown = now;
    const percent = total === 0 ? 100 : Math.floor((100 * done) / total);
    const text = `${what} ${String(percent).padStart(3)} %  ${done} of ${total}`;
    if (!stream.isTTY) stream.write(`${text}\n`);
    else stream.write(`\r${bar(percent)} ${text}${isLast ? '\n' : ''}`);
  };
}

function bar(percent: number): string {
  const full = Math.round(percent / 5);
  return `[${'#'.repeat(full)}${' '.repeat(20 - full)}]`;
}

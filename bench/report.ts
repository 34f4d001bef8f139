import { readFileSync } from 'node:fs';
import { cpus, loadavg, release, totalmem } from 'node:os';

export type Cell = string | number;

/** The middle value; of an even number, the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = Math.floor(sorted.length / 2);
  const [low = Number.NaN, high = Number.NaN] = [sorted[sorted.length % 2 === 1 ? half : half - 1], sorted[half]];
  return (low + high) / 2;
}

/** The value below which such a part of all values is, as 0.99. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(Math.floor(sorted.length * part), sorted.length - 1)] ?? Number.NaN;
}

/** Three digits are all that a benchmark on a shared machine can mean. */
export function round(value: number): Cell {
  if (!Number.isFinite(value)) return '–';
  return Math.abs(value) >= 100 ? Math.round(value) : Number(value.toPrecision(3));
}

/** Prints a Markdown table. */
export function table(title: string, columns: readonly string[], rows: readonly (readonly Cell[])[]): void {
  const line = (cells: readonly Cell[]) => `| ${cells.join(' | ')} |`;
  const lines = [line(columns), line(columns.map((_, index) => (index === 0 ? '---' : '---:'))), ...rows.map(line)];
  process.stdout.write(`\n**${title}**\n\n${lines.join('\n')}\n`);
}

/** Prints how a figure stands against its target. */
export function verdict(what: string, value: number, target: number): void {
  process.stdout.write(`\n${value >= target ? 'reached' : 'MISSED '}  ${what}: ${round(value)} (target ${target})\n`);
}

/** The same for a figure that is to be small. */
export function verdictAtMost(what: string, value: number, most: number): void {
  const how = value <= most ? 'reached' : 'MISSED ';
  process.stdout.write(`\n${how}  ${what}: ${round(value)} (target at most ${round(most)})\n`);
}

/** Says on which machine the figures were taken. */
export function machine(): string {
  const [cpu] = cpus();
  const sqlite = readFileSync(new URL('../node_modules/better-sqlite3/package.json', import.meta.url), 'utf8');
  return [
    `${cpus().length} × ${cpu?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GiB, Linux ${release()}`,
    `Node ${process.version}, better-sqlite3 ${(JSON.parse(sqlite) as { version: string }).version}`,
    `load before: ${round(loadavg()[0] as number)}`,
  ].join(' · ');
}

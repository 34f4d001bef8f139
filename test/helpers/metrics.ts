import assert from 'node:assert/strict';

/** A series in Prometheus' exposition format. */
export type Series = { name: string; labels: Record<string, string>; value: number };

/** A text in that format, parsed: the type and the help of each metric, and all series. */
export type Exposed = { types: Map<string, string>; helps: Map<string, string>; series: Series[] };

const seriesForm = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (NaN|[+-]?Inf|[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?)$/;
const labelForm = /^([a-zA-Z_]\w*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/;

/**
 * Parses a text and asserts the rules of the format (prometheus.io/docs/instrumenting/exposition_formats, version
 * 0.0.4) and of `promtool check metrics`: HELP and TYPE before the series, no series twice, counters called `_total`,
 * whole histograms.
 */
export function readExposition(text: string): Exposed {
  assert.ok(text.endsWith('\n'), 'the last line has no end');
  const exposed: Exposed = { types: new Map(), helps: new Map(), series: [] };
  const seen = new Set<string>();
  for (const line of text.split('\n').filter((line) => line !== '')) readLine(line, exposed, seen);
  for (const [name, type] of exposed.types) {
    assert.ok(exposed.helps.get(name), `${name} has no help`);
    assert.ok(type !== 'counter' || name.endsWith('_total'), `${name} is a counter and does not end in _total`);
    if (type === 'histogram') checkHistogram(name, exposed.series);
  }
  return exposed;
}

function readLine(line: string, { types, helps, series }: Exposed, seen: Set<string>): void {
  const [, kind, about = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? [];
  if (kind) {
    const map = kind === 'HELP' ? helps : types;
    assert.ok(!map.has(about), `${kind} of ${about} twice`);
    if (kind === 'TYPE') assert.match(rest, /^(counter|gauge|histogram)$/);
    map.set(about, rest);
    return;
  }
  const [, name = '', inside = '', value = ''] = seriesForm.exec(line) ?? [];
  assert.notEqual(name, '', `no line of the format: ${line}`);
  const base = name.replace(/_(bucket|sum|count)$/, '');
  assert.ok(types.has(name) || types.get(base) === 'histogram', `${name} has no TYPE before it`);
  const labels = readLabels(inside);
  const key = `${name} ${JSON.stringify(Object.entries(labels).sort())}`;
  assert.ok(!seen.has(key), `${key} twice`);
  seen.add(key);
  series.push({ name, labels, value: value.endsWith('Inf') ? Number.POSITIVE_INFINITY : Number(value) });
}

function readLabels(inside: string): Record<string, string> {
  const labels: Record<string, string> = {};
  for (let rest = inside; rest !== ''; ) {
    const [whole = '', name = '', value = ''] = labelForm.exec(rest) ?? [];
    assert.notEqual(whole, '', `no labels: ${inside}`);
    labels[name] = value;
    rest = rest.slice(whole.length);
  }
  return labels;
}

function checkHistogram(name: string, series: readonly Series[]): void {
  const buckets = series.filter((one) => one.name === `${name}_bucket`);
  const of = ({ le: _, ...labels }: Record<string, string>) => JSON.stringify(labels);
  for (const [labels, own] of Map.groupBy(buckets, (one) => of(one.labels))) {
    const counts = own.map(({ value }) => value);
    assert.deepEqual(
      counts,
      counts.toSorted((a, b) => a - b),
      `the buckets of ${name} are not cumulative`,
    );
    const bounds = own.map(({ labels: { le = '' } }) => (le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le)));
    assert.deepEqual(
      bounds,
      bounds.toSorted((a, b) => a - b),
    );
    assert.equal(bounds.at(-1), Number.POSITIVE_INFINITY);
    const one = (suffix: string) => series.find((s) => s.name === name + suffix && of(s.labels) === labels);
    assert.equal(one('_count')?.value, counts.at(-1), `${name}_count is not that of the last bucket`);
    assert.ok(one('_sum'), `${name} has no sum`);
  }
}

/** The sum of the series of a name that have these labels. */
export function sumOf({ series }: Exposed, name: string, labels: Record<string, string> = {}): number {
  return series
    .filter((one) => one.name === name && Object.entries(labels).every(([label, value]) => one.labels[label] === value))
    .reduce((sum, { value }) => sum + value, 0);
}

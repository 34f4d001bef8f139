const units = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const;

/** A number of bytes as people say it: "1.2 MB". */
export function sizeOf(bytes: number, language: string): string {
  let [size, unit] = [bytes, 0];
  while (size >= 999.5 && unit < units.length - 1) {
    size /= 1000;
    unit += 1;
  }
  const format = { style: 'unit', unit: units[unit], unitDisplay: unit === 0 ? 'long' : 'short' } as const;
  return new Intl.NumberFormat(language, { ...format, maximumFractionDigits: size < 10 && unit > 0 ? 1 : 0 }).format(
    size,
  );
}

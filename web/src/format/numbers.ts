// Formats numbers: short, aligned, and the same everywhere.

const grouped = new Intl.NumberFormat("en-US");

/** 18234 → "18,234". */
export function count(value: number): string {
  return grouped.format(Math.round(value));
}

/** 950 → "950", 18234 → "18.2k", 1250000 → "1.25M": at most four figures for narrow columns. */
export function short(value: number): string {
  const size = Math.abs(value);
  if (size < 1000) return String(Math.round(value));
  if (size < 99_950) return `${trim((value / 1000).toFixed(1))}k`;
  if (size < 999_500) return `${Math.round(value / 1000)}k`;
  return `${trim((value / 1_000_000).toFixed(2))}M`;
}

/** Token counts are estimates until the provider's own usage has calibrated them; `≈` says so. */
export function tokens(value: number, calibrated: boolean): string {
  return `${calibrated ? "" : "≈"}${short(value)}`;
}

/** 51234 → "51.2 KB". Decimal units, as the provider's limits are given. */
export function bytes(value: number): string {
  if (value < 1000) return `${Math.round(value)} B`;
  const units = ["KB", "MB", "GB", "TB"];
  let scaled = value / 1000;
  let unit = 0;
  while (scaled >= 999.5 && unit < units.length - 1) {
    scaled /= 1000;
    unit += 1;
  }
  return `${trim(scaled.toFixed(scaled < 99.95 ? 1 : 0))} ${units[unit]}`;
}

/** 0.0042 → "$0.0042", 0.1 → "$0.10", 12.3 → "$12.30": two figures that say something. */
export function dollars(value: number): string {
  if (value === 0) return "$0";
  return `$${Math.abs(value) < 0.1 ? Number(value.toPrecision(2)) : value.toFixed(2)}`;
}

/** 1 → "1 step", 3 → "3 steps". */
export function plural(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
}

/** A share of one, as a percentage that never claims zero or everything when it is not. */
export function percent(share: number): string {
  if (!Number.isFinite(share) || share <= 0) return "0%";
  if (share < 0.01) return "<1%";
  if (share > 0.99 && share < 1) return ">99%";
  return `${Math.round(share * 100)}%`;
}

function trim(text: string): string {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

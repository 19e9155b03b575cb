// Formats times and durations.

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** The age of a moment: "now", "40s", "12m", "3h", "5d", then the date. */
export function ago(at: number, now: number): string {
  const past = now - at;
  if (past < 5 * SECOND) return "now";
  if (past < MINUTE) return `${Math.floor(past / SECOND)}s`;
  if (past < HOUR) return `${Math.floor(past / MINUTE)}m`;
  if (past < DAY) return `${Math.floor(past / HOUR)}h`;
  if (past < 14 * DAY) return `${Math.floor(past / DAY)}d`;
  return date(at);
}

/** 340 → "340 ms", 12400 → "12.4 s", 95000 → "1 min 35 s". */
export function duration(milliseconds: number): string {
  if (milliseconds < SECOND) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 59_950) return `${(milliseconds / SECOND).toFixed(1)} s`;
  const seconds = Math.round(milliseconds / SECOND);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  const minutes = Math.round(seconds / 60);
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** The time of day, with seconds: "14:03:07". */
export function clock(at: number): string {
  return pad(new Date(at).getHours(), new Date(at).getMinutes(), new Date(at).getSeconds()).join(":");
}

/** "2026-11-15 14:03:07", for tooltips. */
export function moment(at: number): string {
  return `${date(at)} ${clock(at)}`;
}

function date(at: number): string {
  const day = new Date(at);
  return [String(day.getFullYear()), ...pad(day.getMonth() + 1, day.getDate())].join("-");
}

function pad(...parts: number[]): string[] {
  return parts.map((part) => String(part).padStart(2, "0"));
}

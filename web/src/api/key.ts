// The page's half of its session. The daemon passes it in the address, once; then it is in the storage of this origin,
// port included. The cookie, the other half, reaches every server on this host and opens nothing by itself.

const STORED = "ctx-page-key";

function read(): string {
  if (typeof window === "undefined") return "";
  const address = new URL(window.location.href);
  const given = address.searchParams.get("key");
  if (given === null) return localStorage.getItem(STORED) ?? "";
  localStorage.setItem(STORED, given);
  address.searchParams.delete("key");
  history.replaceState(history.state, "", address);
  return given;
}

/** Stores the key of a new session, which takes effect with the next load of the page. */
export function keepKey(key: string): void {
  localStorage.setItem(STORED, key);
}

export function forgetKey(): void {
  localStorage.removeItem(STORED);
}

const KEY = read();

/** Headers of every request. */
export const KEY_HEADERS = { "x-ctx-page-key": KEY };

/** Browsers open an event stream without headers: its address has the key. */
export const KEY_PARAMETER = `key=${encodeURIComponent(KEY)}`;

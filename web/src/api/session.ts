// Signing in to a team's daemon, and out. A session takes effect with the next load of the page.

import { ApiError } from "./errors";
import { forgetKey, KEY_HEADERS, keepKey } from "./key";

async function send(path: string, body?: unknown): Promise<unknown> {
  const response = await fetch(path, {
    method: "POST",
    headers: { ...KEY_HEADERS, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const answer = (await response.json().catch(() => ({}))) as { error?: Partial<ApiError> };
  if (response.ok) return answer;
  const { code = `http-${response.status}`, message = response.statusText, hint = null } = answer.error ?? {};
  throw new ApiError(response.status, code, message, hint);
}

/** The identity provider at which a person can sign in without a key, if there is one. */
export async function signInProvider(): Promise<string | null> {
  const response = await fetch("/ui/sign-in/ways");
  const { provider = null } = response.ok ? ((await response.json()) as { provider?: string | null }) : {};
  return provider;
}

/** The daemon leads from here to the identity provider, and back to the page with a session. */
export const PROVIDER_ADDRESS = "/ui/sign-in/oidc";

/** The key itself is not kept. */
export async function signIn(key: string): Promise<void> {
  const { page_key } = (await send("/ui/sign-in", { key })) as { page_key: string };
  keepKey(page_key);
}

/** Forgets the session in this browser, whatever the daemon answers. */
export async function signOut(): Promise<void> {
  try {
    await send("/ui/sign-out");
  } finally {
    forgetKey();
  }
}

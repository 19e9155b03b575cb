// A person of a team signs in with their key, or at the identity provider if the daemon has one. The daemon answers with
// a session; the key is not kept.

import { Button, Code, TextInput } from "@mantine/core";
import { useEffect, useState } from "react";

import { ApiError } from "../api";
import { PROVIDER_ADDRESS, signIn, signInProvider } from "../api/session";
import styles from "./SignIn.module.css";

export function SignIn() {
  const [key, setKey] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const [provider, setProvider] = useState<string | null>(null);

  useEffect(() => {
    // Without an answer there is still the key.
    signInProvider().then(setProvider, () => {});
  }, []);

  const submit = async () => {
    setBusy(true);
    try {
      await signIn(key.trim());
      window.location.reload();
    } catch (error) {
      setProblem(error instanceof ApiError ? `${error.message} ${error.hint ?? ""}`.trim() : "The daemon does not answer.");
      setBusy(false);
    }
  };

  return (
    <main className={styles.page}>
      <form
        className={styles.card}
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <img src={`${import.meta.env.BASE_URL}icon.svg`} alt="" width={36} height={36} />
        <h1 className={styles.heading}>Sign in to Context Composer</h1>
        <p className={styles.words}>This daemon serves a team. Sign in to see your conversations.</p>
        {provider !== null && (
          <>
            <Button component="a" href={PROVIDER_ADDRESS} fullWidth>
              Sign in with {provider}
            </Button>
            <p className={styles.or}>or with a key</p>
          </>
        )}
        <TextInput
          label="Key"
          type="password"
          placeholder="ctxk_…"
          autoComplete="current-password"
          spellCheck={false}
          autoFocus
          value={key}
          error={problem}
          onChange={(event) => {
            setKey(event.currentTarget.value);
            setProblem(null);
          }}
        />
        <Button type="submit" variant={provider === null ? "filled" : "default"} loading={busy} disabled={key.trim() === ""} fullWidth>
          Sign in
        </Button>
        <p className={styles.quiet}>
          No key yet? An admin of your team makes one. The operator signs in with the link that <Code>ctx ui</Code> prints.
        </p>
      </form>
    </main>
  );
}

// A machine asks to sign in as the person of this browser, who approves or refuses. A link only opens this view: only a
// click decides.

import { Button, TextInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { formatLogin } from "../address";
import { approveLogin, getLogin, type Login, refuseLogin } from "../api/team";
import { Problem } from "../notices/Problem";
import { useStatus } from "../queries";
import styles from "./LoginPage.module.css";

export function LoginPage({ code }: { code: string | null }) {
  return (
    <div className={styles.page}>
      <div className={styles.card}>{code === null ? <EnterCode /> : <Decide key={code} code={code} />}</div>
    </div>
  );
}

function EnterCode() {
  const [code, setCode] = useState("");
  return (
    <form
      className={styles.card}
      onSubmit={(event) => {
        event.preventDefault();
        window.location.hash = formatLogin(code);
      }}
    >
      <h2 className={styles.heading}>Sign in a machine</h2>
      <p className={styles.words}>Enter the code that the terminal shows.</p>
      <TextInput
        label="Code"
        placeholder="BCDF-GHJK"
        autoComplete="off"
        spellCheck={false}
        autoFocus
        value={code}
        onChange={(event) => setCode(event.currentTarget.value)}
      />
      <Button type="submit" disabled={code.trim() === ""}>
        Continue
      </Button>
    </form>
  );
}

function Decide({ code }: { code: string }) {
  const { data: status } = useStatus();
  const login = useQuery({ queryKey: ["login", code], queryFn: () => getLogin(code), retry: false, staleTime: Infinity });
  const decision = useMutation({ mutationFn: (approve: boolean) => (approve ? approveLogin(code) : refuseLogin(code)) });
  if (decision.data !== undefined) return <Done machine={decision.data.machine} approved={decision.data.approved} />;
  const error = decision.error ?? login.error;
  if (error !== null) {
    return <Problem error={error} action={{ label: "Enter another code", run: () => (window.location.hash = formatLogin("")) }} />;
  }
  if (login.data === undefined || status?.me == null) return null;
  return <Question login={login.data} name={status.me.name} busy={decision.isPending} onDecide={decision.mutate} />;
}

interface QuestionProps {
  login: Login;
  name: string;
  busy: boolean;
  onDecide: (approve: boolean) => void;
}

function Question({ login, name, busy, onDecide }: QuestionProps) {
  return (
    <>
      <h2 className={styles.heading}>Sign in a machine as {name}?</h2>
      <p className={styles.code}>{login.code}</p>
      <p className={styles.words}>
        It calls itself <q className={styles.machine}>{login.machine}</q>, which anyone can claim. It gets a key with which it reads and edits
        your conversations for 90 days.
      </p>
      <p className={styles.words}>
        Approve it only if you ran <code>ctx login</code> yourself a moment ago and its terminal shows this code. If someone sent you this
        link, refuse.
      </p>
      <div className={styles.buttons}>
        <Button variant="default" disabled={busy} onClick={() => onDecide(false)}>
          Refuse
        </Button>
        <Button disabled={busy} onClick={() => onDecide(true)}>
          Approve
        </Button>
      </div>
    </>
  );
}

function Done({ machine, approved }: { machine: string; approved: boolean }) {
  return (
    <>
      <h2 className={styles.heading}>{approved ? "Approved" : "Refused"}</h2>
      <p className={styles.words}>
        {approved ? `${machine} is signed in in a moment. Go on in its terminal.` : `${machine} got no key.`}
      </p>
    </>
  );
}

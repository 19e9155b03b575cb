// Lists project settings that wait until a person trusts the project.

import { CloseButton } from "@mantine/core";
import { useState } from "react";

import { useContextFill } from "../context/useContextFill";
import { Command } from "./Command";
import styles from "./notices.module.css";

export function TrustNotice({ conversation }: { conversation: string }) {
  const { data } = useContextFill(conversation, true);
  const [closed, setClosed] = useState<string | null>(null);
  const settings = data?.project_settings ?? null;
  if (settings === null || settings.waiting.length === 0 || closed === settings.folder) return null;
  return (
    <div className={styles.trust} role="status" aria-label="Settings that need your trust">
      <div>
        <strong>These settings take effect once you trust this project:</strong>
        <ul>
          {settings.waiting.map(({ file, line, key, value }) => (
            <li key={`${file} ${key}`}>
              <code>
                {key}
                {value != null && ` = ${value}`}
              </code>{" "}
              <span>
                ({file}
                {line != null && `, line ${line}`})
              </span>
            </li>
          ))}
        </ul>
        <Command text={`ctx trust ${quoted(settings.folder)}`} />
      </div>
      <CloseButton size="sm" aria-label="Dismiss" onClick={() => setClosed(settings.folder)} />
    </div>
  );
}

/** A path as a shell takes it. */
function quoted(path: string): string {
  return /^[\w./~-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}

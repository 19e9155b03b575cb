// Lists auditors and admins who opened the person's conversations, with their reasons, made keys in their name, or let
// accounts sign in as them.

import { PartProblem } from "../notices/Problem";
import { Table, When } from "./Table";
import styles from "./team.module.css";
import { useNotices } from "./useTeam";

export function Notices() {
  const { data: notices, error } = useNotices();
  return (
    <>
      <PartProblem error={error} />
      <Table
        label="Notices"
        heads={["When", "By", "Role", "Opened, made or allowed", "Reason"]}
        empty="No one has opened your conversations, made a key for you, or let an account sign in as you."
        isEmpty={notices?.length === 0}
      >
        {(notices ?? []).map((notice) => (
          <tr key={`${notice.at} ${notice.by} ${notice.key ?? notice.account ?? ""}`}>
            <td>
              <When at={notice.at} />
            </td>
            <th scope="row">
              <bdi>{notice.by}</bdi>
            </th>
            <td>{notice.role}</td>
            <td>
              {notice.key != null ? (
                <>
                  key <span className={styles.mono}>{notice.key}</span>
                </>
              ) : notice.account != null ? (
                <>
                  account <bdi className={styles.mono}>{notice.account}</bdi>
                </>
              ) : (
                <a className={styles.mono} href={`#/${encodeURIComponent(notice.conversation)}/frames`}>
                  {notice.conversation}
                </a>
              )}
            </td>
            <td className={styles.long}>
              <bdi>{notice.reason}</bdi>
            </td>
          </tr>
        ))}
      </Table>
    </>
  );
}

// Lists auditors and admins who opened the person's conversations, with their reasons.

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
        heads={["When", "By", "Role", "Conversation", "Reason"]}
        empty="No one has opened your conversations."
        isEmpty={notices?.length === 0}
      >
        {(notices ?? []).map((notice) => (
          <tr key={`${notice.at} ${notice.by}`}>
            <td>
              <When at={notice.at} />
            </td>
            <th scope="row">
              <bdi>{notice.by}</bdi>
            </th>
            <td>{notice.role}</td>
            <td>
              <a className={styles.mono} href={`#/${encodeURIComponent(notice.conversation)}/frames`}>
                {notice.conversation}
              </a>
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

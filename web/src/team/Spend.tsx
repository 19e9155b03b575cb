// What the team, or a member, spends: the figures of `ctx stats --by …`.

import { SegmentedControl } from "@mantine/core";
import { useState } from "react";

import type { Me } from "../api/team";
import { count, dollars, percent, short } from "../format/numbers";
import { useNow } from "../format/useNow";
import { PartProblem } from "../notices/Problem";
import { audits } from "./roles";
import { groupingsFor, type Grouping, named, PERIODS, share, since } from "./spend";
import { Table, When } from "./Table";
import styles from "./team.module.css";
import { useSpend } from "./useTeam";

export function Spend({ me }: { me: Me }) {
  const groupings = groupingsFor(me);
  const [by, setBy] = useState<Grouping>(groupings[0]?.value ?? "model");
  const [period, setPeriod] = useState("30");
  const { data: stats, error } = useSpend(by, since(period, useNow()), audits(me));
  const label = groupings.find(({ value }) => value === by)?.label ?? "";
  return (
    <>
      <PartProblem error={error} />
      <div className={styles.form}>
        <SegmentedControl
          size="xs"
          data={groupings}
          value={by}
          onChange={(value) => setBy(value as Grouping)}
          aria-label="Spend by"
        />
        <SegmentedControl size="xs" data={PERIODS} value={period} onChange={setPeriod} aria-label="Period" />
      </div>
      <Table
        label="Spend"
        heads={[label, "Cost", "Share", "Saved", "Requests", "Input", "From the cache", "Output", "Last used"]}
        empty="No requests in this time."
        isEmpty={stats?.groups.length === 0}
      >
        {stats !== undefined && (
          <>
            {stats.groups.map((group) => (
              <tr key={group.key ?? ""}>
                <th scope="row" className={styles.long}>
                  <bdi>{named(by, group.key)}</bdi>
                </th>
                <Amounts spent={group} total={stats.total.cost} />
                <td>
                  <When at={group.at} />
                </td>
              </tr>
            ))}
            {stats.more > 0 && (
              <tr>
                <td colSpan={9}>{count(stats.more)} more</td>
              </tr>
            )}
            <tr className={styles.sum}>
              <th scope="row">Sum</th>
              <Amounts spent={stats.total} total={stats.total.cost} />
              <td />
            </tr>
          </>
        )}
      </Table>
      {stats !== undefined && (
        <p className={styles.remark}>
          At list prices of {stats.prices_as_of}, estimated from the tokens that the providers counted.
          {stats.total.unpriced > 0 && ` ${count(stats.total.unpriced)} requests to models without a known price are left out.`}
          {by === "group" && " People in several groups count in each, and once in the sum."}
          {by === "project" && " A project is the working directory that the client names."}
        </p>
      )}
    </>
  );
}

interface Spent {
  cost: number;
  saved: number;
  requests: number;
  input: number;
  cache_read: number;
  cache_write: number;
  output: number;
}

function Amounts({ spent, total }: { spent: Spent; total: number }) {
  return (
    <>
      <td className={styles.number}>{dollars(spent.cost)}</td>
      <td className={styles.number}>{percent(share(spent.cost, total))}</td>
      <td className={styles.number}>{spent.saved < 0 ? `−${dollars(spent.saved)}` : dollars(spent.saved)}</td>
      <td className={styles.number}>{count(spent.requests)}</td>
      <td className={styles.number}>{short(spent.input + spent.cache_write)}</td>
      <td className={styles.number}>{short(spent.cache_read)}</td>
      <td className={styles.number}>{short(spent.output)}</td>
    </>
  );
}

// The person of this browser, if the daemon serves a team.

import { Button, Menu } from "@mantine/core";
import { ChevronDownIcon, ExitIcon, EyeOpenIcon, LockClosedIcon, PersonIcon, Share1Icon } from "@radix-ui/react-icons";

import { signOut } from "../api/session";
import { complain } from "../notices/toasts";
import { useStatus } from "../queries";
import { goToTeam } from "../route";
import styles from "./Account.module.css";
import { audits } from "./roles";

export function Account() {
  const { data: status } = useStatus();
  const me = status?.me;
  if (me == null) return null;
  const leave = () =>
    signOut().then(
      () => window.location.reload(),
      (error: unknown) => complain(error, { label: "Reload the page", run: () => window.location.reload() }),
    );
  return (
    <Menu position="bottom-end" shadow="md" width={220} withinPortal>
      <Menu.Target>
        <Button
          size="compact-xs"
          variant="subtle"
          color="gray"
          className={styles.name ?? ""}
          leftSection={<PersonIcon width={13} height={13} />}
          rightSection={<ChevronDownIcon width={12} height={12} />}
          aria-label={`Signed in as ${me.name}`}
        >
          {me.name}
        </Button>
      </Menu.Target>
      <Menu.Dropdown aria-label="Account">
        <Menu.Label>{[me.role, ...me.groups].join(" · ")}</Menu.Label>
        {audits(me) && (
          <Menu.Item leftSection={<PersonIcon />} onClick={() => goToTeam("people")}>
            Team
          </Menu.Item>
        )}
        <Menu.Item leftSection={<LockClosedIcon />} onClick={() => goToTeam("keys")}>
          {audits(me) ? "Keys" : "My keys"}
        </Menu.Item>
        <Menu.Item leftSection={<Share1Icon />} onClick={() => goToTeam("shares")}>
          {audits(me) ? "Shares" : "What I share"}
        </Menu.Item>
        <Menu.Item leftSection={<EyeOpenIcon />} onClick={() => goToTeam("notices")}>
          Opened by others
        </Menu.Item>
        <Menu.Divider />
        <Menu.Item leftSection={<ExitIcon />} onClick={() => void leave()}>
          Sign out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

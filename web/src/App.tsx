// The page: conversations on the left, the selected one in the middle, the open item on the right, the daemon's status
// below.

import { ActionIcon, Drawer, Tooltip, useComputedColorScheme, useMantineColorScheme } from "@mantine/core";
import { useDisclosure, useMediaQuery } from "@mantine/hooks";
import { HamburgerMenuIcon, MoonIcon, SunIcon } from "@radix-ui/react-icons";
import { useEffect } from "react";

import { ApiError, type Conversation } from "./api";
import styles from "./App.module.css";
import { ConversationList } from "./conversations/ConversationList";
import { Follow } from "./conversations/Follow";
import { later } from "./later";
import { useLive } from "./live";
import { FirstSteps } from "./notices/FirstSteps";
import { Locked } from "./notices/Locked";
import { Problem } from "./notices/Problem";
import { Toasts } from "./notices/Toasts";
import { Palette } from "./palette/Palette";
import { useConversations } from "./queries";
import { FOLLOW_ACTIVE, stayWith, useLogin, useRoute, useSection } from "./route";
import { StatusBar } from "./status/StatusBar";
import { Account } from "./team/Account";
import { Workspace } from "./Workspace";

const DetailsPanel = later(async () => (await import("./details/DetailsPanel")).DetailsPanel);

const TeamPage = later(async () => (await import("./team/TeamPage")).TeamPage);

const LoginPage = later(async () => (await import("./team/LoginPage")).LoginPage);

const NONE: Conversation[] = [];

export function App() {
  const conversations = useConversations();
  const refused = conversations.error instanceof ApiError ? conversations.error : null;
  // Without a session no query is retried: the answer would be the same, and redraw the form while the user types.
  if (refused !== null && ([401, 403].includes(refused.status) || refused.code === "key-unchecked")) {
    return <Locked error={refused} />;
  }
  return <Page conversations={conversations} />;
}

function Page({ conversations }: { conversations: ReturnType<typeof useConversations> }) {
  const connection = useLive();
  const [route, go] = useRoute();
  const narrow = useMediaQuery("(max-width: 760px)") ?? false;
  const [menuOpen, menu] = useDisclosure(false);

  const all = conversations.data ?? NONE;
  const following = route.conversation === FOLLOW_ACTIVE;
  // A person may have only conversations of others, none of which is active.
  const chosen = following ? (all.find((one) => one.active) ?? all[0]) : all.find(({ id }) => id === route.conversation);
  const section = useSection();
  const login = useLogin();
  const apart = section !== undefined || login !== undefined;
  // The item in the panel stays visible.
  const reading = following && route.open !== null ? chosen?.id : undefined;
  useEffect(() => {
    if (reading !== undefined) stayWith(reading);
  }, [reading]);

  const stay = () => chosen !== undefined && stayWith(chosen.id);
  const list = (
    <ConversationList
      conversations={all}
      chosen={apart ? null : (chosen?.id ?? null)}
      onChoose={(conversation) => {
        go({ conversation, open: null, at: null });
        menu.close();
      }}
    />
  );

  return (
    <div className={styles.page}>
      <header className={styles.header}>
        {narrow && (
          <ActionIcon variant="subtle" color="gray" onClick={menu.open} aria-label="Conversations">
            <HamburgerMenuIcon />
          </ActionIcon>
        )}
        <img src={`${import.meta.env.BASE_URL}icon.svg`} alt="" width={20} height={20} />
        <h1 className={styles.name}>Context Composer</h1>
        <span className={styles.grow} />
        <Follow conversations={all} shown={chosen} following={following} />
        <SchemeSwitch />
        <Account />
      </header>

      {narrow ? (
        <Drawer
          opened={menuOpen}
          onClose={menu.close}
          size={300}
          padding={0}
          lockScroll={false}
          title="Conversations"
          classNames={{ header: styles.drawerHead ?? "", body: styles.drawerBody ?? "" }}
        >
          {list}
        </Drawer>
      ) : (
        <nav className={styles.conversations} aria-label="Conversations">
          {list}
        </nav>
      )}

      <main className={styles.main} onPointerDownCapture={stay}>
        <Problem error={conversations.error} />
        {section !== undefined && <TeamPage section={section} />}
        {login !== undefined && <LoginPage code={login} />}
        {!apart && conversations.data !== undefined && all.length === 0 && <FirstSteps />}
        {!apart && all.length > 0 && chosen === undefined && (
          <Problem
            error={new Error(`Conversation ${route.conversation} no longer exists.`)}
            action={{
              label: "Show the active conversation",
              run: () => go({ conversation: FOLLOW_ACTIVE, open: null, at: null }),
            }}
          />
        )}
        {!apart && chosen !== undefined && <Workspace key={chosen.id} conversation={chosen} />}
      </main>

      {!apart && chosen !== undefined && route.open !== null && (
        <aside className={styles.panel} aria-label={`Content of ${route.open}`} onPointerDownCapture={stay}>
          <DetailsPanel
            conversation={chosen}
            id={route.open}
            onOpen={(open) => go({ open })}
            onClose={() => go({ open: null })}
          />
        </aside>
      )}

      <Palette conversation={chosen} conversations={all} />
      <Toasts />
      <StatusBar connection={connection} />
    </div>
  );
}

function SchemeSwitch() {
  // Keeping transitions avoids the style element that would disable them.
  const { setColorScheme } = useMantineColorScheme({ keepTransitions: true });
  const dark = useComputedColorScheme("light", { getInitialValueInEffect: false }) === "dark";
  const label = dark ? "Light colours" : "Dark colours";
  return (
    <Tooltip label={label}>
      <ActionIcon
        variant="subtle"
        color="gray"
        aria-label={label}
        onClick={() => setColorScheme(dark ? "light" : "dark")}
      >
        {dark ? <SunIcon /> : <MoonIcon />}
      </ActionIcon>
    </Tooltip>
  );
}

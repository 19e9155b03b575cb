// Mounts the page, App.tsx.

import "./library.css";
import "./theme.css";

import { MantineProvider } from "@mantine/core";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { ApiError } from "./api";
import { App } from "./App";
import { askFirst } from "./queries";
import { parseRoute } from "./route";
import { theme } from "./theme";
import { viewFetched } from "./Workspace";

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      // The live stream reports changes; until then a response stays valid.
      staleTime: Infinity,
      // Retrying does not change an error response; live.ts retries while the daemon is unreachable.
      retry: (failures, error) => !(error instanceof ApiError) && failures < 1,
      refetchOnWindowFocus: false,
    },
  },
});

const SOON = 200;
const route = parseRoute(window.location.hash);
/** Waits briefly for the first data, because drawing an empty page before it would be wasted work. */
const first = Promise.allSettled([askFirst(queries, route), viewFetched(route.view)]);
const soon = new Promise((done) => setTimeout(done, SOON));
void Promise.race([first, soon]).then(draw);

function draw() {
  const root = document.getElementById("root");
  if (root === null) return;
  createRoot(root).render(
    <StrictMode>
      {/* The variables come from the style sheets: made at run time they would need inline styles, which the page's
          policy forbids. */}
      <MantineProvider theme={theme} defaultColorScheme="auto" withCssVariables={false} withGlobalClasses={false}>
        <QueryClientProvider client={queries}>
          <App />
        </QueryClientProvider>
      </MantineProvider>
    </StrictMode>,
  );
}

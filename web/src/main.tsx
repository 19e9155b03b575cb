// Mounts the page. What it looks like is in App.tsx.

// In a layer: what the page says itself counts, in whatever order the builder puts the style sheets.
import "@mantine/core/styles.layer.css";
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
import { loadView } from "./Workspace";

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      // The live stream says when something changed; until then an answer stays good.
      staleTime: Infinity,
      // An answer in words will not change by asking again; a silent daemon is asked again by live.ts.
      retry: (failures, error) => !(error instanceof ApiError) && failures < 1,
      refetchOnWindowFocus: false,
    },
  },
});

const { conversation, view } = parseRoute(window.location.hash);
void askFirst(queries, conversation);
loadView(view);

const root = document.getElementById("root");
if (root !== null) {
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

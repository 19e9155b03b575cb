// Defaults of the component library. Colours and sizes are in theme.css, because the page creates no styles at run
// time.

import { Badge, Button, Code, createTheme, Menu, Tooltip } from "@mantine/core";

export const theme = createTheme({
  cursorType: "pointer",
  components: {
    Badge: Badge.extend({ defaultProps: { size: "xs", radius: "sm", variant: "light", tt: "none", fw: 500, fz: 11 } }),
    Button: Button.extend({ defaultProps: { fw: 500 } }),
    Code: Code.extend({ defaultProps: { fz: "xs" } }),
    // The placeholder is no entry of a menu; the first entry has the focus instead.
    Menu: Menu.extend({ defaultProps: { withInitialFocusPlaceholder: false } }),
    Tooltip: Tooltip.extend({ defaultProps: { openDelay: 400, fz: "xs", multiline: true, maw: 360, withArrow: true } }),
  },
});

import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";

import { Markdown } from "./Markdown";
import { safeAddress } from "./tokens";

const drawn = (text: string) => renderToStaticMarkup(<Markdown text={text} />).replace(/ class="[^"]*"/g, "");

test("headings, lists, tables, quotes and code become elements", () => {
  expect(drawn("# Title")).toContain('data-depth="1">Title');
  expect(drawn("- one\n- two **bold**")).toContain("<li>one</li><li>two <strong>bold</strong></li>");
  expect(drawn("3. three")).toContain('<ol start="3">');
  expect(drawn("| a | b |\n|---|--:|\n| 1 | 2 |")).toContain('<td data-align="right">2</td>');
  expect(drawn("> said")).toContain("<blockquote>");
  expect(drawn("```rust\nfn main() {}\n```")).toContain('data-language="rust"');
  expect(drawn("call `run()` now")).toContain("<code>run()</code>");
  expect(drawn("- [x] done\n- [ ] open")).toMatch(/checked="".*disabled=""|disabled="".*checked=""/);
});

test("line breaks stay: they are in what is sent", () => {
  expect(drawn("one\ntwo")).toContain("<p>one\ntwo</p>");
});

test("HTML stays text", () => {
  const html = drawn("<script>alert(1)</script>\n\nhello <img src=x onerror=alert(1)> <b>bold</b>");
  expect(html).not.toMatch(/<(script|img|b)\b/);
  expect(html).toContain("&lt;script&gt;");
  expect(html).toContain("onerror=alert(1)");
});

test("pictures are named, never loaded", () => {
  const html = drawn("![secret](https://evil.example/x.png?token=1)");
  expect(html).not.toContain("<img");
  expect(html).toContain("secret");
});

test("only web addresses become links, without a way back to this page", () => {
  expect(drawn("[x](https://example.com/a)")).toContain('target="_blank" rel="noopener noreferrer"');
  for (const address of ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "/control/v1/purge", "vbscript:x"]) {
    expect(safeAddress(address)).toBe(null);
    expect(drawn(`[x](<${address}>)`)).not.toContain("<a ");
  }
});

test("invisible characters are named in rendered text and code too", () => {
  expect(drawn("a\u202eb `c\u200bd`")).toMatch(/RLO.*ZWSP/);
});

test("what is nested without end, or very long, is shown as it is", () => {
  expect(drawn(`${"> ".repeat(3000)}deep`)).toContain("deep");
  expect(drawn(`${"[".repeat(20_000)}`).length).toBeGreaterThan(20_000);
});

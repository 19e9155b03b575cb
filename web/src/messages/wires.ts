/** Where the formats of the providers keep the input of a call and the content of a result. */

/** The input of a call as it stands in a request. */
export function callInput(raw: unknown): unknown {
  if (!isRecord(raw)) return raw;
  if ("input" in raw) return raw.input;
  const text = isRecord(raw.function) ? raw.function.arguments : raw.arguments;
  if (typeof text !== "string") return text ?? raw;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** The content of a tool result as it stands in a request. */
export function resultContent(raw: unknown): unknown {
  if (!isRecord(raw)) return undefined;
  return "output" in raw ? raw.output : raw.content;
}

/** A tool result with another text. */
export function withResult(raw: Record<string, unknown>, text: string): Record<string, unknown> {
  return "output" in raw ? { ...raw, output: text } : { ...raw, content: text };
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

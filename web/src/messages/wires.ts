/** Finds the input of a call and the content of a result in each provider's format. */

/** The input of a call, as in the request. */
export function callInput(raw: unknown): unknown {
  if (!isRecord(raw)) return raw;
  if ("input" in raw) return raw.input;
  const call = either(raw, "functionCall", "function_call");
  if (call) return call.args ?? {};
  const text = isRecord(raw.function) ? raw.function.arguments : raw.arguments;
  if (typeof text !== "string") return text ?? raw;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** The content of a tool result, as in the request. */
export function resultContent(raw: unknown): unknown {
  if (!isRecord(raw)) return undefined;
  const answer = either(raw, "functionResponse", "function_response");
  if (answer) return responseText(answer.response);
  return "output" in raw ? raw.output : raw.content;
}

/** The text of a response, which is an object. */
function responseText(response: unknown): unknown {
  if (!isRecord(response)) return response;
  const [only, ...others] = Object.values(response);
  return typeof only === "string" && others.length === 0 ? only : JSON.stringify(response);
}

/** The member that has one of two spellings. */
function either(raw: Record<string, unknown>, camel: string, snake: string): Record<string, unknown> | undefined {
  return [raw[camel], raw[snake]].find(isRecord);
}

/** A tool result with another text. */
export function withResult(raw: Record<string, unknown>, text: string): Record<string, unknown> {
  for (const name of ["functionResponse", "function_response"]) {
    const answer = raw[name];
    if (isRecord(answer)) return { ...raw, [name]: { ...answer, response: { output: text } } };
  }
  return "output" in raw ? { ...raw, output: text } : { ...raw, content: text };
}

/** The type and the data of a picture in a part. */
export function inlinePicture(raw: unknown): { type: unknown; data: unknown } | undefined {
  const inline = isRecord(raw) ? either(raw, "inlineData", "inline_data") : undefined;
  return inline && { type: inline.mimeType ?? inline.mime_type, data: inline.data };
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

// Error responses of the daemon.

/** An error response of the daemon, in words. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly hint: string | null,
  ) {
    super(message);
    this.name = "ApiError";
  }
}

/** Returns the answer, or throws the refusal. */
export async function taken<Data>(asked: Promise<Answer<Data>>): Promise<Data> {
  const { data, error, response } = await asked;
  if (response.ok && data !== undefined) return data;
  throw readError(response, error);
}

interface Answer<Data> {
  data?: Data;
  error?: unknown;
  response: Response;
}

function readError(response: Response, body: unknown): ApiError {
  const error = isObject(body) && isObject(body.error) ? body.error : {};
  const text = (value: unknown) => (typeof value === "string" ? value : null);
  return new ApiError(
    response.status,
    text(error.code) ?? `http-${response.status}`,
    // Not the daemon's error format: uses the status line.
    text(error.message) ?? `The daemon responded with ${response.status} ${response.statusText}`.trim(),
    text(error.hint),
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

// Requests to the server: JSON in, JSON out, and errors with names.

const KIND = "urn:rankcorr:problem:";

/** An error that the server names; status 0: no readable answer arrived, but the server may have done the work. */
export class Problem extends Error {
  constructor(status, body = {}, retryAfter = undefined) {
    super(body.detail ?? `status ${status}`);
    this.status = status;
    this.kind = (body.type ?? "").replace(KIND, "");
    this.errors = body.errors ?? {};
    this.body = body;
    this.retryAfter = retryAfter; // seconds
  }

  /** Whether the same request may succeed later. */
  get mayPass() {
    return [0, 408, 429].includes(this.status) || this.status >= 500;
  }
}

/**
 * Send a request; the answer has its JSON (null if it has none, or nothing has changed), its ETag and its status. A
 * request without an answer after `patience` milliseconds counts as lost.
 */
export async function request(method, path, { patience, body, headers = {} }) {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), patience);
  try {
    const response = await fetch(path, {
      method,
      headers: body === undefined ? headers : { ...headers, "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
      credentials: "same-origin",
      cache: "no-store",
      redirect: "error",
      signal: controller.signal,
    });
    const json = parse(await response.text());
    if (!response.ok && response.status !== 304) {
      throw new Problem(response.status, json ?? {}, seconds(response.headers.get("Retry-After")));
    }
    if (json === undefined) throw new Problem(0);
    return { json, tag: response.headers.get("ETag"), status: response.status };
  } catch (error) {
    throw error instanceof Problem ? error : new Problem(0);
  } finally {
    clearTimeout(timer);
  }
}

/** The JSON of a text: null if it is empty, undefined if it is not JSON. */
function parse(text) {
  if (text === "") return null;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function seconds(header) {
  const value = Number.parseFloat(header ?? "");
  return Number.isFinite(value) && value >= 0 ? value : undefined;
}

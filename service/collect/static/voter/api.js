// Requests to the server: JSON in, JSON out, named errors.

const PATIENCE = 20_000; // milliseconds until a request counts as lost
export const MOST_FAILURES = 5; // failures of one request in a row; they take about 12 seconds
const KIND = "urn:rankcorr:problem:";

/** An error that the server names. */
export class Problem extends Error {
  constructor(status, body, retryAfter) {
    super(body.detail ?? `status ${status}`);
    this.status = status;
    this.kind = (body.type ?? "").replace(KIND, "");
    this.body = body;
    this.retryAfter = retryAfter;
  }

  /** Whether the same request may succeed later. */
  get passes() {
    return this.status === 408 || this.status === 429 || this.status >= 500;
  }

  /** Whether the voter must start again at the welcome page. */
  get needsWelcome() {
    return this.status === 401 || this.kind === "consent-needed" || this.kind === "consent-changed";
  }
}

/** No answer arrived, so it is unknown whether the server did the work. */
export class Unreachable extends Error {}

/** The API for a voter of one campaign. */
export class Api {
  constructor(campaign) {
    this.campaign = campaign;
  }

  /** The answer's JSON; null if it has none. */
  async ask(method, path, body) {
    const headers = { "Rankcorr-Campaign": this.campaign };
    if (body !== undefined) headers["Content-Type"] = "application/json";
    let response;
    let text;
    try {
      response = await fetch(path, {
        method,
        headers,
        body: body === undefined ? undefined : JSON.stringify(body),
        credentials: "same-origin",
        cache: "no-store",
        redirect: "error",
        signal: timeout(PATIENCE),
      });
      text = await response.text();
    } catch (error) {
      throw new Unreachable(String(error));
    }
    const answer = parsed(text);
    if (!response.ok) {
      throw new Problem(response.status, answer ?? {}, seconds(response.headers.get("Retry-After")));
    }
    if (answer === undefined) throw new Unreachable("the answer is not JSON");
    return answer;
  }

  me() {
    return this.ask("GET", "/v1/me");
  }

  startSession(body) {
    return this.ask("POST", "/v1/sessions", { campaign: this.campaign, ...body });
  }

  consent(version) {
    return this.ask("PUT", "/v1/consent", { version });
  }

  nextSheet() {
    return this.ask("POST", "/v1/sheets", {});
  }

  /** Send an entry of the queue: a vote or a retraction. */
  send(entry) {
    return entry.kind === "retract"
      ? this.ask("POST", `/v1/votes/${entry.target}/retract`, { event_id: entry.event_id })
      : this.ask("PUT", `/v1/votes/${entry.event_id}`, entry.vote);
  }

  finish() {
    return this.ask("POST", "/v1/finish", {});
  }

  withdraw() {
    return this.ask("POST", "/v1/withdraw", {});
  }
}

/**
 * Call a function until it gets an answer; `onwait` is called for each temporary failure. An error that the server
 * repeats is thrown.
 */
export async function untilAnswered(call, onwait = () => {}) {
  for (let tries = 0, failures = 0; ; tries += 1) {
    try {
      return await call();
    } catch (error) {
      failures = isFailure(error) ? failures + 1 : 0;
      if (!mayPass(error) || failures === MOST_FAILURES) throw error;
      onwait(error);
      await pause(waiting(tries, error));
    }
  }
}

export function mayPass(error) {
  return error instanceof Unreachable || (error instanceof Problem && error.passes);
}

/** Whether the server crashed on a request, and may do so every time. */
export function isFailure(error) {
  return error instanceof Problem && error.status === 500;
}

/** Milliseconds to wait after several failures: doubling up to 30 seconds, with jitter, and at least Retry-After. */
export function waiting(tries, error) {
  const most = Math.min(30_000, 500 * 2 ** tries);
  const jittered = most * (0.5 + Math.random() / 2);
  return Math.max(jittered, (error.retryAfter ?? 0) * 1000);
}

export function pause(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** A random UUID; crypto.randomUUID is missing on pages without https. */
export function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const digits = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

function timeout(milliseconds) {
  const controller = new AbortController();
  setTimeout(() => controller.abort(), milliseconds);
  return controller.signal;
}

function parsed(text) {
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

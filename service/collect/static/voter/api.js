// Requests of a voter's page, and how it waits for an answer.

import { Problem, request } from "../requests.js";

const PATIENCE = 20_000; // milliseconds until a request counts as lost
export const MOST_FAILURES = 5; // failures of one request in a row; the waits between them take about 6 seconds

export { Problem };

/** Whether the voter must start again at the welcome page. */
export function needsWelcome(problem) {
  return problem.status === 401 || problem.kind === "consent-needed" || problem.kind === "consent-changed";
}

/** The API for a voter of one campaign. */
export class Api {
  constructor(campaign) {
    this.campaign = campaign;
  }

  /** The answer's JSON; null if it has none. */
  async ask(method, path, body) {
    const headers = { "Rankcorr-Campaign": this.campaign };
    return (await request(method, path, { patience: PATIENCE, body, headers })).json;
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
      if (!error.mayPass || failures === MOST_FAILURES) throw error;
      onwait(error);
      await pause(waitingTime(tries, error));
    }
  }
}

/** Whether the server crashed on a request, and may do so every time. */
export function isFailure(error) {
  return error instanceof Problem && error.status === 500;
}

/** Milliseconds to wait after several failures: doubling up to 30 seconds, with jitter, and at least Retry-After. */
export function waitingTime(tries, error) {
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

/**
 * The WebSocket to the gateway: connects, notices when the other side is gone, and comes back by itself.
 *
 * It only moves messages. What they mean is decided by whoever made it.
 */

import type { Command } from "./protocol";

export type ConnectionState =
  /** `again` after a connection was lost or an attempt failed. */
  | { kind: "connecting"; again: boolean }
  | { kind: "live" }
  /** `retryAt` is in the milliseconds of `Date.now()`; `reason` is what the server said when it closed, if anything. */
  | { kind: "lost"; retryAt: number; reason: string };

export interface ConnectionEvents {
  text(message: string): void;
  binary(message: ArrayBuffer): void;
  changed(state: ConnectionState): void;
}

/** Pauses before each attempt after the first, ms; the last one is used from then on. */
const BACKOFF_MS = [500, 1000, 2000, 3000, 5000];
/** Where there are other gateways, each is tried after only this pause, ms. */
const OTHER_MS = 100;
/** The gateway speaks twice a second. After this long without a word it is taken for gone, ms. */
const SILENCE_MS = 10_000;
/** An attempt that has not succeeded by then is given up, ms. */
const ATTEMPT_MS = 8_000;
/** Only a connection that lasted this long counts as a success; the pauses start again from the shortest, ms. */
const LASTING_MS = 3_000;
const WATCH_MS = 1_000;

export class Connection {
  state: ConnectionState = { kind: "connecting", again: false };
  private socket: WebSocket | null = null;
  private failures = 0;
  private sequence = 0;
  private heardAt = 0;
  private liveSince = 0;
  private quietChecks = 0;
  private retryTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    /** Asked before every attempt: what it says may be good only once. */
    private readonly url: () => string,
    private readonly events: ConnectionEvents,
    /** How many gateways there are: while some have not been tried since the last success, nobody waits long. */
    private readonly gateways: () => number = () => 1,
  ) {
    setInterval(() => this.watch(), WATCH_MS);
  }

  /** Connects now, whatever pause was running. */
  open(): void {
    clearTimeout(this.retryTimer);
    this.abandon();
    this.heardAt = Date.now();
    this.quietChecks = 0;
    this.enter({ kind: "connecting", again: this.failures > 0 });
    let socket: WebSocket;
    try {
      socket = new WebSocket(this.url());
    } catch (error) {
      this.lose(String(error));
      return;
    }
    socket.binaryType = "arraybuffer";
    socket.onmessage = (event: MessageEvent) => {
      this.heardAt = Date.now();
      this.quietChecks = 0;
      if (this.state.kind !== "live") {
        this.liveSince = this.heardAt;
        this.enter({ kind: "live" });
      }
      if (typeof event.data === "string") this.events.text(event.data);
      else this.events.binary(event.data as ArrayBuffer);
    };
    socket.onclose = (event: CloseEvent) => this.lose(event.reason);
    this.socket = socket;
  }

  /** Sends a command and returns its number, or -1 when there is nobody to send it to. */
  send(command: Command): number {
    if (this.state.kind !== "live" || this.socket?.readyState !== WebSocket.OPEN) return -1;
    const seq = ++this.sequence;
    this.socket.send(JSON.stringify({ ...command, seq }));
    return seq;
  }

  private lose(reason: string): void {
    this.abandon();
    if (this.state.kind === "live" && Date.now() - this.liveSince > LASTING_MS) this.failures = 0;
    const others = this.gateways() - 1;
    const waits = Math.min(Math.max(0, this.failures - others), BACKOFF_MS.length - 1);
    const pause = this.failures < others ? OTHER_MS : BACKOFF_MS[waits];
    this.failures++;
    this.retryTimer = setTimeout(() => this.open(), pause);
    this.enter({ kind: "lost", retryAt: Date.now() + pause, reason });
  }

  private abandon(): void {
    const socket = this.socket;
    this.socket = null;
    if (!socket) return;
    socket.onmessage = null;
    socket.onclose = null;
    socket.close();
  }

  /** A page that was busy or asleep finds its messages late, so silence must be seen twice before it counts. */
  private watch(): void {
    if (this.state.kind === "lost") return;
    const limit = this.state.kind === "live" ? SILENCE_MS : ATTEMPT_MS;
    this.quietChecks = Date.now() - this.heardAt > limit ? this.quietChecks + 1 : 0;
    if (this.quietChecks >= 2) this.lose("no answer");
  }

  private enter(state: ConnectionState): void {
    this.state = state;
    this.events.changed(state);
  }
}

/** What to tell a person about a state, or null when all is well. */
export function describe(state: ConnectionState, now: number): string | null {
  switch (state.kind) {
    case "live":
      return null;
    case "connecting":
      return state.again ? "The server is gone, trying again …" : "Connecting to the server …";
    case "lost": {
      const seconds = Math.max(1, Math.ceil((state.retryAt - now) / 1000));
      const why = state.reason ? ` (${state.reason})` : "";
      return `The server is gone${why}, retrying in ${seconds} s`;
    }
  }
}

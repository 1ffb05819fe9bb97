/**
 * The WebSocket to a gateway: connects, notices when the other side is gone, and comes back by itself, to another gateway
 * if there is one.
 *
 * It only moves messages. What they mean is decided by whoever made it.
 */

import type { Gateways } from "./gateways.js";
import type { Command } from "./protocol.js";

export type LinkState =
  /** `again` after a connection was lost or an attempt failed. */
  | { kind: "connecting"; again: boolean }
  | { kind: "live" }
  /** `retryAt` is in the milliseconds of `Date.now()`; `reason` is what the server said when it closed, if anything. */
  | { kind: "lost"; retryAt: number; reason: string }
  | { kind: "closed" };

export interface LinkEvents {
  text(message: string): void;
  binary(message: ArrayBuffer): void;
  changed(state: LinkState): void;
}

/** The gateway speaks twice a second. After this long without a word it is taken for gone, ms. */
const SILENCE_MS = 10_000;
/** An attempt that has not succeeded by then is given up, ms. */
const ATTEMPT_MS = 8_000;
const WATCH_MS = 1_000;

export class Link {
  state: LinkState = { kind: "connecting", again: false };
  private socket: WebSocket | null = null;
  private failed = false;
  private sequence = 0;
  private heardAt = 0;
  private liveSince = 0;
  private quietChecks = 0;
  private retryTimer: ReturnType<typeof setTimeout> | undefined;
  private readonly watchTimer: ReturnType<typeof setInterval>;

  constructor(
    readonly gateways: Gateways,
    private readonly events: LinkEvents,
  ) {
    this.watchTimer = setInterval(() => this.watch(), WATCH_MS);
  }

  /** Connects now, whatever pause was running. */
  open(): void {
    clearTimeout(this.retryTimer);
    this.abandon();
    this.heardAt = Date.now();
    this.quietChecks = 0;
    this.enter({ kind: "connecting", again: this.failed });
    let socket: WebSocket;
    try {
      socket = new WebSocket(this.gateways.url());
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
        this.failed = false;
        this.enter({ kind: "live" });
      }
      if (typeof event.data === "string") this.events.text(event.data);
      else this.events.binary(event.data as ArrayBuffer);
    };
    socket.onclose = (event: CloseEvent) => this.lose(event.reason);
    // Says less than the close that follows; but sockets that are not a browser's throw when nobody listens.
    socket.onerror = () => undefined;
    this.socket = socket;
  }

  /** Sends a command and returns its number, or -1 when there is nobody to send it to. */
  send(command: Command): number {
    const seq = this.sequence + 1;
    if (!this.sendText(JSON.stringify({ ...command, seq }))) return -1;
    this.sequence = seq;
    return seq;
  }

  /** Sends a text as it is; false when there is nobody to send it to. */
  sendText(text: string): boolean {
    if (this.state.kind !== "live" || this.socket?.readyState !== WebSocket.OPEN) return false;
    this.socket.send(text);
    return true;
  }

  /** Ends it for good. */
  close(): void {
    clearInterval(this.watchTimer);
    clearTimeout(this.retryTimer);
    this.abandon();
    this.enter({ kind: "closed" });
  }

  /** Gives this gateway up, as if it had broken off, and goes on with the next. */
  lose(reason: string): void {
    this.abandon();
    const pause = Math.round(this.gateways.next(this.state.kind === "live" ? Date.now() - this.liveSince : null));
    this.failed = true;
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
    if (this.state.kind === "lost" || this.state.kind === "closed") return;
    const limit = this.state.kind === "live" ? SILENCE_MS : ATTEMPT_MS;
    this.quietChecks = Date.now() - this.heardAt > limit ? this.quietChecks + 1 : 0;
    if (this.quietChecks >= 2) this.lose("no answer");
  }

  private enter(state: LinkState): void {
    this.state = state;
    this.events.changed(state);
  }
}

/** What to tell a person about a state, or null when all is well. */
export function describe(state: LinkState, now: number): string | null {
  switch (state.kind) {
    case "live":
    case "closed":
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

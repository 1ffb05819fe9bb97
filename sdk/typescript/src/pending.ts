/** Commands and questions that wait for their answers, by number. */

import type { Command } from "./protocol.js";

/** What came of something that was asked: `refused` with a reason, or why there is no answer. */
export class AskError extends Error {
  constructor(
    /**
     * `refused` by the gateway; `lost` with the connection, or there is none, and the command may have been carried out;
     * `silent`: no answer came in time; `too-many` wait already.
     */
    readonly kind: "refused" | "lost" | "silent" | "too-many",
    reason: string,
  ) {
    super(reason);
    this.name = "AskError";
  }
}

interface Waiter {
  command: Command;
  until: number;
  resolve: (answer: unknown) => void;
  reject: (error: AskError) => void;
}

/** What waits for an answer. Everything that enters leaves again: answered, refused, lost or too late. */
export class Pending {
  private readonly waiting = new Map<number, Waiter>();

  constructor(private readonly limit = 1024) {}

  get count(): number {
    return this.waiting.size;
  }

  isFull(): boolean {
    return this.waiting.size >= this.limit;
  }

  /** Waits for the answer to what was asked under this number. */
  wait(seq: number, command: Command, until: number): Promise<unknown> {
    return new Promise((resolve, reject) => this.waiting.set(seq, { command, until, resolve, reject }));
  }

  /** An answer came. Returns to what; null when nobody waits for it. */
  answer(seq: number | null | undefined, answer: unknown): Command | null {
    const waiter = this.take(seq);
    waiter?.resolve(answer);
    return waiter?.command ?? null;
  }

  /** Something was refused. Returns what; null when nobody waits for it. */
  refuse(seq: number | null | undefined, reason: string): Command | null {
    const waiter = this.take(seq);
    waiter?.reject(new AskError("refused", reason));
    return waiter?.command ?? null;
  }

  /** Gives up what has waited for too long. */
  expire(now: number): void {
    for (const [seq, waiter] of this.waiting) {
      if (waiter.until > now) continue;
      this.waiting.delete(seq);
      waiter.reject(new AskError("silent", "no answer came in time"));
    }
  }

  /** Gives up everything. */
  lose(reason: string): void {
    const lost = [...this.waiting.values()];
    this.waiting.clear();
    for (const waiter of lost) waiter.reject(new AskError("lost", reason));
  }

  private take(seq: number | null | undefined): Waiter | undefined {
    if (seq === null || seq === undefined) return undefined;
    const waiter = this.waiting.get(seq);
    this.waiting.delete(seq);
    return waiter;
  }
}

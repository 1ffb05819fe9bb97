/**
 * Something that a client chooses and that every gateway it comes to is asked for: what was said last, and what a gateway
 * granted last.
 */

import type { Command } from "./protocol.js";

export class Choice {
  /** The newest that any gateway has granted; null while none has. */
  granted: Command | null = null;
  private said: Command | null = null;

  /** From now on this, or nothing. */
  say(command: Command | null): void {
    this.said = command;
  }

  /** A gateway has carried it out or refused it. What is refused is not asked for again. */
  answered(command: Command, isGranted: boolean): void {
    if (isGranted) this.granted = command;
    else if (this.said === command) this.said = this.granted;
  }

  /** What to ask another gateway for, in this order: should it refuse what was said last, there is what was granted. */
  commands(): Command[] {
    if (this.said === null) return [];
    return this.granted === null || this.granted === this.said ? [this.said] : [this.granted, this.said];
  }
}

/** What the panel says about the life of a server: whether it may be killed, is dead, or is not the first to serve its region. */

import type { NodeStats, WorldStats } from "@nimbus/client";

export interface Life {
  /** Beside its name; empty for one of which there is nothing to say. */
  word: string;
  dead: boolean;
  /** The button that kills it: absent where servers cannot be killed, off while nobody could take over. */
  kill: "absent" | "off" | "on";
}

export class ServerLives {
  private mortal = false;

  /** Takes note whether servers can be killed here at all. Once one could, all can, sooner or later. */
  see(stats: Pick<WorldStats, "nodes">): void {
    this.mortal ||= stats.nodes.some((node) => node.killable === true);
  }

  of(node: Pick<NodeStats, "alive" | "epoch" | "killable">): Life {
    const kill = !this.mortal ? "absent" : node.killable ? "on" : "off";
    if (!node.alive) return { word: "dead", dead: true, kill };
    return { word: node.epoch > 1 ? `epoch ${node.epoch}` : "", dead: false, kill };
  }
}

/** The ray probe: asks the gateway what a ray meets first, draws the ray, and tells what it met, how far and how old that is. */

import { element } from "./panel";
import type { Command, Hit, QueryAnswer, Vec3 } from "@nimbus/client";
import type { ToolPreview } from "./tool_preview";

/** How far a ray goes, metres. */
const REACH = 2000;

export interface ProbeResult {
  hit: Hit | null;
  /** How many ticks old the places are that it was answered from. */
  age: number;
}

export class Probe {
  /** What the last answer said. */
  last: ProbeResult | null = null;
  private asked = { seq: -1, from: [0, 0, 0] as Vec3, to: [0, 0, 0] as Vec3 };
  private readonly card = element("probe");

  constructor(
    private readonly preview: ToolPreview,
    private readonly post: (command: Command) => number,
    /** What a body is called: whose it is, or that it never moves. */
    private readonly describe: (nid: string) => string,
    remove: (nid: string) => void,
  ) {
    element("probe-close").onclick = () => this.hide();
    element("probe-remove").onclick = () => {
      if (this.last?.hit) remove(this.last.hit.nid);
      this.hide();
    };
  }

  /** Sends a ray; `shown` is where its line is drawn from. */
  send(origin: Vec3, direction: Vec3, shown: Vec3): void {
    const length = Math.hypot(...direction);
    if (length === 0) return;
    const unit = direction.map((value) => value / length) as Vec3;
    const to = origin.map((value, axis) => value + unit[axis] * REACH) as Vec3;
    this.asked = { seq: this.post({ type: "query", queries: [{ ray: { origin, direction: unit, max: REACH } }] }), from: shown, to };
  }

  /** An answer came; shown when it is the one that is waited for. */
  answered(seq: number | null, age: number, answers: QueryAnswer[]): void {
    if (seq === null || seq !== this.asked.seq) return;
    const [answer] = answers;
    const hit = answer && "ray" in answer ? (answer.ray as Hit | null) : null;
    this.last = { hit, age };
    this.preview.showRay(this.asked.from, hit ? hit.point : this.asked.to, hit !== null);
    this.card.hidden = false;
    element("probe-text").textContent = probeText(this.last, this.describe);
    element("probe-remove").hidden = hit === null;
  }

  hide(): void {
    this.card.hidden = true;
    this.preview.clear();
  }
}

/** What to tell a person of an answer. */
export function probeText({ hit, age }: ProbeResult, describe: (nid: string) => string): string {
  const old = age === 0 ? "seen at this tick" : `seen ${age} ${age === 1 ? "tick" : "ticks"} ago`;
  if (!hit) return `Nothing within ${REACH} m, ${old}`;
  return `${describe(hit.nid)} at ${hit.distance.toFixed(2)} m, ${old}`;
}

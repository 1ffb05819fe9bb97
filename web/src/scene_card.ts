/** The scene and its servers in figures: what the world promises and who looks after which part of it. */

import { neighbours } from "./drawing";
import { element } from "./panel";
import type { NodeStats, Region, WorldMessage, WorldStats } from "@nimbus/client";
import { swatch } from "./swatch";

export interface SceneState {
  facts: WorldMessage | null;
  stats: WorldStats | null;
  regions: readonly Region[];
  bodies: number;
  statics: number;
  /** The gateway that is used, and how many there are. */
  gateway: string;
  gateways: number;
  role: string;
}

export class SceneCard {
  private readonly card = element("scene-card");
  private shown = "";

  constructor() {
    element("scene-card-close").onclick = () => this.toggle();
  }

  toggle(): void {
    this.card.hidden = !this.card.hidden;
  }

  /** Brings the card up to date; called a few times a second. */
  show(state: SceneState): void {
    if (this.card.hidden) return;
    const facts = sceneFacts(state);
    const servers = (state.stats?.nodes ?? []).map((node) => ({ region: node.region, facts: serverFacts(node, state.regions) }));
    const text = JSON.stringify([facts, servers]);
    if (text === this.shown) return;
    this.shown = text;
    element("scene-facts").replaceChildren(...facts.map(line));
    const parts = servers.map(({ region, facts: [name, ...rest] }) => {
      const part = document.createElement("section");
      const title = document.createElement("h3");
      title.append(swatch(region), ` ${name[1]}`);
      const list = document.createElement("dl");
      list.append(...rest.map(line));
      part.append(title, list);
      return part;
    });
    element("scene-servers").replaceChildren(...parts);
  }
}

/** Names and values of what is known of the scene. */
export function sceneFacts(state: SceneState): [string, string][] {
  const { facts, stats, regions } = state;
  const lines: [string, string][] = [
    ["bodies", String(state.bodies)],
    ["statics", String(state.statics)],
    ["regions", `${regions.length} of ${regions.reduce((sum, { boxes }) => sum + boxes.length, 0)} boxes`],
  ];
  if (facts) {
    lines.push(["ticks a second", String(facts.tick_hz)], ["loaded", `${facts.era} ${facts.era === 1 ? "time" : "times"}`]);
    if (facts.gravity) lines.push(["gravity", `${facts.gravity.map((part) => Number(part.toFixed(2))).join("  ")} m/s²`]);
    if (facts.radius_max !== undefined) lines.push(["largest body", `${facts.radius_max} m`]);
    const promised = facts.tolerances;
    if (promised) {
      lines.push(["promised up to", `${promised.speed} m/s, ${promised.latency_ms} ms between servers, ${promised.frame_ms} ms a wake-up`]);
    }
    const box = facts.kill_box;
    if (box) lines.push(["the world ends", [0, 1, 2].map((axis) => `${box.min[axis] ?? "−∞"} … ${box.max[axis] ?? "∞"}`).join(", ")]);
  }
  lines.push(["clients", String(stats?.clients ?? 0)], ["you are here as", state.role || "unknown"]);
  lines.push(["gateway", state.gateways > 1 ? `${state.gateway}, one of ${state.gateways}` : state.gateway]);
  return lines;
}

/** The same for one server, its name first. */
export function serverFacts(node: NodeStats, regions: readonly Region[]): [string, string][] {
  const state = node.alive ? "" : ", dead";
  const lines: [string, string][] = [["", node.region === null ? `Server ${node.id}, spare` : `Server ${node.id}${state}`]];
  if (node.region !== null) {
    const boxes = regions.find(({ id }) => id === node.region)?.boxes.length ?? 0;
    const near = neighbours(node.region, regions);
    lines.push(["region", `${node.region}, ${boxes} ${boxes === 1 ? "box" : "boxes"}`]);
    lines.push(["neighbours", near.length > 0 ? near.map((region) => `region ${region}`).join(", ") : "none"]);
  }
  lines.push(["bodies", `${node.bodies}, ${node.awake} awake`]);
  lines.push(["a step takes", `${node.step_ms_p50.toFixed(2)} ms, at worst ${node.step_ms_p99.toFixed(2)} ms`]);
  lines.push(["arrived", String(node.migrations)]);
  lines.push(["seams", `${node.auras} auras, ${node.ghosts} ghosts known`]);
  lines.push(["late", `${node.late_ticks} ticks${node.skew_ms === undefined ? "" : `, ${node.skew_ms.toFixed(1)} ms off`}`]);
  lines.push(["breaches since it started", String(node.breaches)]);
  lines.push(["life", `epoch ${node.epoch}${node.killable ? ", its backup has everything" : ""}`]);
  return lines;
}

function line([name, value]: [string, string]): HTMLElement {
  const row = document.createElement("div");
  const [what, figure] = [document.createElement("dt"), document.createElement("dd")];
  what.textContent = name;
  figure.textContent = value;
  row.append(what, figure);
  return row;
}

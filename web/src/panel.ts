/** The panel of figures: the world's at the top, a row for each server below. Only changes what changed. */

import { regionColour } from "./palette";
import type { NodeStats, WorldStats } from "@nimbus/client";
import { ServerLives } from "./server_life";
import { StepChart } from "./step_chart";
import { dress, SPARE_COLOUR } from "./swatch";

const count = new Intl.NumberFormat("en", { useGrouping: true });

interface Row {
  root: HTMLElement;
  name: HTMLElement;
  swatch: HTMLElement;
  bodies: HTMLElement;
  step: HTMLElement;
  moves: HTMLElement;
  life: HTMLElement;
  kill: HTMLButtonElement;
  seams: HTMLElement;
  chart: StepChart;
}

export class Panel {
  private readonly rows = new Map<number, Row>();
  private readonly servers = element("servers");
  private readonly clock = element("clock-state");
  private readonly panel = element("panel");
  private readonly lives = new ServerLives();

  /** `kill` is called with the number of the server whose button was pressed. */
  constructor(private readonly kill: (server: number) => void) {
    const fold = element("panel-fold");
    const set = (folded: boolean): void => {
      this.panel.classList.toggle("folded", folded);
      fold.setAttribute("aria-expanded", String(!folded));
      for (const row of this.rows.values()) row.chart.draw();
    };
    fold.addEventListener("click", () => set(!this.panel.classList.contains("folded")));
    set(window.matchMedia("(max-width: 720px)").matches);
  }

  scene(name: string, about: string): void {
    write("scene-name", name);
    write("scene-about", about);
    document.title = name ? `${name} – Nimbus` : "Nimbus";
  }

  setClock(paused: boolean, speed: number, dilation = 1): void {
    const pace = speed === 1 ? "" : `, ${speed < 1 ? speed.toFixed(2) : speed.toFixed(1)}× speed`;
    const slowed = dilation < 0.995 ? `, slowed to ${Math.max(1, Math.round(dilation * 100))} %` : "";
    this.clock.textContent = paused ? "Paused" : `Running${pace}${slowed}`;
    this.clock.title = slowed ? "A server cannot keep up, so the whole world runs slower and skips nothing" : "";
    this.clock.className = paused ? "paused" : "running";
  }

  /** Figures that the viewer knows better than the stats do; called a few times a second. */
  live(tick: number, bodies: number, fps: number): void {
    write("fig-tick", tick < 0 ? "–" : String(Math.floor(tick)));
    write("fig-bodies", count.format(bodies));
    write("fig-fps", fps >= 10 ? String(Math.round(fps)) : fps.toFixed(1));
  }

  show(stats: WorldStats): void {
    write("fig-clients", count.format(stats.clients));
    // A world that just began has no figures yet; the rows and their history stay.
    if (stats.nodes.length === 0) return;
    this.lives.see(stats);
    const present = new Set<number>();
    for (const node of stats.nodes) {
      present.add(node.id);
      this.showNode(node, this.rows.get(node.id) ?? this.addRow(node.id));
    }
    this.servers.classList.toggle("many", stats.nodes.length > 6);
    for (const [id, row] of this.rows) {
      if (present.has(id)) continue;
      row.root.remove();
      this.rows.delete(id);
    }
  }

  private showNode(node: NodeStats, row: Row): void {
    dress(row.swatch, node.region);
    row.chart.setColour(node.region === null ? SPARE_COLOUR : regionColour(node.region));
    const life = this.lives.of(node);
    row.root.classList.toggle("down", life.dead);
    set(row.life, life.word);
    row.kill.hidden = life.kill === "absent";
    row.kill.disabled = life.kill !== "on";
    set(row.name, node.region === null ? `Server ${node.id}, spare` : `Server ${node.id}`);
    row.bodies.replaceChildren(`${count.format(node.bodies)} `, small(`${count.format(node.awake)} awake`));
    row.step.replaceChildren("step ", bold(ms(node.step_ms_p50)), " p99 ", bold(ms(node.step_ms_p99)), " ms");
    row.moves.replaceChildren(bold(count.format(node.migrations)), " arrived");
    row.seams.hidden = node.auras + node.ghosts === 0;
    const words = document.createElement("span");
    words.append(bold(count.format(node.auras)), " auras, ", bold(count.format(node.ghosts)), " ghosts");
    row.seams.replaceChildren(words);
    row.chart.push(finite(node.step_ms_p50), finite(node.step_ms_p99));
  }

  private addRow(id: number): Row {
    const root = div("server");
    const name = div("name");
    const swatch = div("swatch");
    const words = document.createElement("span");
    const life = document.createElement("small");
    life.className = "life";
    const bodies = div("bodies");
    const detail = div("detail");
    const step = document.createElement("span");
    const moves = document.createElement("span");
    const kill = document.createElement("button");
    kill.className = "kill";
    kill.type = "button";
    kill.textContent = "Kill";
    kill.title = "End this server at once, without a word. Its backup takes over.";
    kill.setAttribute("aria-label", `Kill server ${id}`);
    kill.hidden = true;
    kill.addEventListener("click", () => {
      // The next figures say when it can be pressed again.
      kill.disabled = true;
      this.kill(id);
    });
    detail.append(step, moves);
    name.append(swatch, words, life, kill);
    const seams = div("detail");
    seams.title = "Auras it projects near its seams, and auras of other servers' bodies that it knows";
    const chart = new StepChart(SPARE_COLOUR);
    root.append(name, bodies, detail, seams, chart.canvas);
    const after = [...this.rows.entries()].filter(([other]) => other > id).sort(([a], [b]) => a - b)[0];
    if (after) this.servers.insertBefore(root, after[1].root);
    else this.servers.append(root);
    const row = { root, name: words, swatch, bodies, step, moves, life, kill, seams, chart };
    this.rows.set(id, row);
    return row;
  }
}

/** An element that index.html promises to have. */
export function element<T extends HTMLElement = HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (!found) throw new Error(`index.html has no #${id}`);
  return found as T;
}

function write(id: string, text: string): void {
  set(element(id), text);
}

function set(target: HTMLElement, text: string): void {
  if (target.textContent !== text) target.textContent = text;
}

function ms(value: number): string {
  return finite(value).toFixed(value >= 10 ? 1 : 2);
}

function finite(value: number): number {
  return Number.isFinite(value) ? value : 0;
}

function div(className: string): HTMLElement {
  const made = document.createElement("div");
  made.className = className;
  return made;
}

function bold(text: string): HTMLElement {
  const made = document.createElement("b");
  made.textContent = text;
  return made;
}

function small(text: string): HTMLElement {
  const made = document.createElement("small");
  made.textContent = text;
  return made;
}

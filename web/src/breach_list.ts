/** The list of broken promises by factor and server: the latest, how many, for which bodies. A click looks there. */

import type { BreachGroup } from "./breach_tally";
import { breachText } from "./breach_words";
import { element } from "./panel";
import { swatch } from "./swatch";

/** Rows shown; the rest is a number. */
const ROWS_MAX = 6;

export interface BreachListState {
  /** The latest first. */
  groups: BreachGroup[];
  tick: number;
  tickHz: number;
}

export class BreachList {
  private shown = "";

  constructor(
    private readonly regionName: (region: number) => string,
    private readonly pick: (nid: string) => void,
  ) {}

  show(on: boolean, { groups, tick, tickHz }: BreachListState): void {
    const card = element("breaches");
    card.hidden = !on || groups.length === 0;
    if (card.hidden) return;
    const latest = groups.slice(0, ROWS_MAX);
    const ages = latest.map((group) => Math.max(0, Math.round((tick - group.latest.tick) / tickHz)));
    const state = JSON.stringify([latest, ages, groups.length]);
    if (state === this.shown) return;
    this.shown = state;
    const more = groups.length - latest.length;
    element("breaches-more").textContent = more > 0 ? `and ${more} more kinds or servers` : "";
    element("breaches-rows").replaceChildren(...latest.map((group, i) => this.row(group, ages[i])));
  }

  private row({ latest, count }: BreachGroup, age: number): HTMLElement {
    const row = document.createElement("li");
    const words = document.createElement("b");
    words.textContent = count > 1 ? `${breachText(latest)} ×${count}` : breachText(latest);
    const detail = document.createElement("small");
    const ago = age === 0 ? "now" : `${age} s ago`;
    detail.textContent = `${this.regionName(latest.region)}, ${ago}`;
    row.append(swatch(latest.region), words, detail);
    if (latest.bodies.length > 0) {
      const [first, ...more] = latest.bodies;
      const link = document.createElement("button");
      link.type = "button";
      link.textContent = more.length > 0 ? `body ${first} + ${more.length}` : `body ${first}`;
      link.title = latest.bodies.join(", ");
      link.onclick = () => this.pick(first);
      row.append(link);
    }
    return row;
  }
}

/** The list of broken promises: what was exceeded, by how much, on which server, for which bodies. A click looks there. */

import { element } from "./panel";
import type { Breach } from "@nimbus/client";
import { breachText } from "./seams";
import { swatch } from "./swatch";

/** Rows shown; the rest is a number. */
const ROWS_MAX = 4;

export class BreachList {
  private shown = "";

  constructor(
    private readonly regionName: (region: number) => string,
    private readonly pick: (nid: string) => void,
  ) {}

  show(on: boolean, breaches: Breach[], total: number, tick: number, tickHz: number): void {
    const card = element("breaches");
    card.hidden = !on || breaches.length === 0;
    if (card.hidden) return;
    const latest = breaches.slice(-ROWS_MAX).reverse();
    const ages = latest.map((breach) => Math.max(0, Math.round((tick - breach.tick) / tickHz)));
    const state = JSON.stringify([latest, ages, total]);
    if (state === this.shown) return;
    this.shown = state;
    element("breaches-total").textContent = `${total} in all`;
    element("breaches-rows").replaceChildren(...latest.map((breach, i) => this.row(breach, ages[i])));
  }

  private row(breach: Breach, age: number): HTMLElement {
    const row = document.createElement("li");
    const words = document.createElement("b");
    words.textContent = breachText(breach);
    const detail = document.createElement("small");
    const ago = age === 0 ? "now" : `${age} s ago`;
    detail.textContent = `${this.regionName(breach.region)}, ${ago}`;
    row.append(swatch(breach.region), words, detail);
    if (breach.bodies.length > 0) {
      const [first, ...more] = breach.bodies;
      const link = document.createElement("button");
      link.type = "button";
      link.textContent = more.length > 0 ? `body ${first} + ${more.length}` : `body ${first}`;
      link.title = breach.bodies.join(", ");
      link.onclick = () => this.pick(first);
      row.append(link);
    }
    return row;
  }
}

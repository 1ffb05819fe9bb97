/** The list of keys, made from the table that binds them, and the key that each button names when pointed at. */

import { type Action, codeLabel, GESTURES, GROUPS, HOLDS, keyLabel, keyOf, PRESSES } from "./keys";

/** A line of the help: the keys, each in a box of its own or as plain words, and what they do. */
export interface HelpLine {
  keys: string[];
  /** Words instead of keys. */
  gesture?: string;
  about: string;
}

export class Help {
  constructor(private readonly dialog: HTMLDialogElement) {
    const lists = helpGroups().map(({ name, lines }) => {
      const section = document.createElement("section");
      const title = document.createElement("h3");
      title.textContent = name;
      const list = document.createElement("dl");
      list.append(...lines.map(lineElement));
      section.append(title, list);
      return section;
    });
    dialog.querySelector("#help-keys")?.replaceChildren(...lists);
    for (const button of document.querySelectorAll<HTMLElement>("[data-action]")) {
      button.title = `${button.title} (${keyOf(button.dataset.action as Action)})`.trimStart();
    }
  }

  get open(): boolean {
    return this.dialog.open;
  }

  toggle(): void {
    if (this.dialog.open) this.dialog.close();
    else this.dialog.showModal();
  }
}

/** All that is in the table, group by group. */
export function helpGroups(): { name: string; lines: HelpLine[] }[] {
  return GROUPS.map((name) => {
    const lines: HelpLine[] = [];
    for (const { group, keys, about } of PRESSES) if (group === name) lines.push({ keys: keys.map(keyLabel), about });
    if (name === "Camera") {
      const held = new Set(HOLDS.flatMap(({ codes }) => codes.map(codeLabel)));
      const words = HOLDS.map(({ motion }) => motion).join(", ");
      lines.push({ keys: [...held], about: `hold to fly: ${words}` });
    }
    for (const { group, gesture, about } of GESTURES) if (group === name) lines.push({ keys: [], gesture, about });
    return { name, lines };
  });
}

function lineElement({ keys, gesture, about }: HelpLine): HTMLElement {
  const line = document.createElement("div");
  const what = document.createElement("dt");
  if (gesture !== undefined) what.textContent = gesture;
  for (const key of keys) {
    const box = document.createElement("kbd");
    box.textContent = key;
    what.append(box, " ");
  }
  const words = document.createElement("dd");
  words.textContent = about;
  line.append(what, words);
  return line;
}

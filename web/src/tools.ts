/**
 * The tools of the palette: a person chooses one and drags on the ground. A tool that is chosen has the mouse; the camera
 * gets it back when the tool is put away. What a tool sends may be refused, and then a toast says why.
 */

import type { CameraRig } from "./camera";
import {
  DRAG_MIN,
  drawnStatic,
  groundSpot,
  regionCommand,
  snapped,
  type Spot,
  STATIC_FORMS,
  staticCommand,
  type StaticForm,
} from "./drawing";
import { type Action, keyOf } from "./keys";
import { regionColour } from "./palette";
import { element } from "./panel";
import type { Probe } from "./probe";
import type { Command, Region, Vec3 } from "@nimbus/client";
import type { ToolPreview } from "./tool_preview";

export type ToolName = "static" | "region" | "probe";

/** What the tools are called, and the words that tell how to use each. */
const TOOLS: readonly { name: ToolName; title: string; action: Action; hint: string }[] = [
  { name: "static", title: "Static", action: "draw static", hint: "Drag on the ground to put it there." },
  { name: "region", title: "Region", action: "draw region", hint: "Drag a rectangle on the ground; edges keep to boundaries." },
  { name: "probe", title: "Probe", action: "probe", hint: "Click to send a ray from the eye, or drag along the ground." },
];

/** How far above the ground a dragged ray runs, metres. */
const RAY_HEIGHT = 0.5;

export interface ToolSurroundings {
  send(command: Command): number;
  regions(): readonly Region[];
  nameOf(region: number): string;
  /** The height of what lies under the pointer and never moves, metres; null where there is nothing. */
  heightAt(x: number, y: number): number | null;
}

interface Drag {
  pointer: number;
  from: Spot;
  to: Spot;
  height: number;
  /** Where it began in the view. */
  view: [number, number];
}

export class Tools {
  active: ToolName | null = null;
  private drag: Drag | null = null;
  private readonly form = element<HTMLSelectElement>("tool-form");
  private readonly height = element<HTMLInputElement>("tool-height");
  private readonly server = element<HTMLSelectElement>("tool-server");
  private readonly buttons = new Map<ToolName, HTMLButtonElement>();
  private servers = "";

  constructor(
    canvas: HTMLCanvasElement,
    private readonly rig: CameraRig,
    private readonly preview: ToolPreview,
    private readonly probe: Probe,
    private readonly around: ToolSurroundings,
  ) {
    for (const { name, title, action, hint } of TOOLS) {
      const button = document.createElement("button");
      button.type = "button";
      button.id = `tool-${name}`;
      button.title = `${hint} (${keyOf(action)})`;
      button.append(title);
      button.setAttribute("aria-pressed", "false");
      button.onclick = () => {
        this.choose(name);
        button.blur();
      };
      element("tool-buttons").append(button);
      this.buttons.set(name, button);
    }
    for (const { form, name } of STATIC_FORMS) this.form.add(new Option(name, form));
    const showHeight = (): void => void (element("tool-height-text").textContent = `${this.height.value} m`);
    this.height.oninput = showHeight;
    showHeight();
    for (const chooser of [this.form, this.server]) chooser.onchange = () => chooser.blur();
    canvas.addEventListener("pointerdown", (event) => this.down(canvas, event));
    canvas.addEventListener("pointermove", (event) => this.move(canvas, event));
    canvas.addEventListener("pointerup", (event) => this.up(canvas, event));
    canvas.addEventListener("pointercancel", () => this.cancelDrag());
    this.show();
  }

  /** Takes a tool, or puts it away when it is the one in hand. */
  choose(name: ToolName): void {
    this.cancelDrag();
    this.active = this.active === name ? null : name;
    this.show();
  }

  /** Ends what is being drawn, or else puts the tool away. False when there was nothing to end. */
  cancel(): boolean {
    if (this.drag) {
      this.cancelDrag();
      return true;
    }
    if (this.active === null) return false;
    this.active = null;
    this.show();
    return true;
  }

  /** Lists the servers that a region may be given to; called a few times a second. */
  refresh(): void {
    const regions = this.around.regions();
    const names = regions.map(({ id }) => this.around.nameOf(id));
    if (names.join() === this.servers) return;
    this.servers = names.join();
    const chosen = this.server.value;
    this.server.replaceChildren(...regions.map(({ id }, i) => new Option(names[i], String(id))));
    if (regions.some(({ id }) => String(id) === chosen)) this.server.value = chosen;
  }

  private show(): void {
    for (const [name, button] of this.buttons) button.setAttribute("aria-pressed", String(this.active === name));
    const tool = TOOLS.find(({ name }) => name === this.active);
    element("tool-options").hidden = tool === undefined;
    element("tool-static-options").hidden = this.active !== "static";
    element("tool-region-options").hidden = this.active !== "region";
    element("tool-hint").textContent = tool ? `${tool.hint} ${keyOf("let go")} ends it.` : "";
    this.rig.hold(tool !== undefined);
    document.body.classList.toggle("drawing", tool !== undefined);
    if (this.active !== "probe") this.probe.hide();
    this.preview.clear();
  }

  private down(canvas: HTMLCanvasElement, event: PointerEvent): void {
    if (this.active === null || event.button !== 0 || !event.isPrimary || event.shiftKey) return;
    const view = viewOf(canvas, event);
    const height = this.around.heightAt(...view) ?? 0;
    const from = this.spotAt(view, height);
    if (from === null && this.active !== "probe") return;
    const spot: Spot = from ?? [0, 0];
    this.drag = { pointer: event.pointerId, from: spot, to: spot, height, view };
    canvas.setPointerCapture(event.pointerId);
  }

  private move(canvas: HTMLCanvasElement, event: PointerEvent): void {
    if (this.drag?.pointer !== event.pointerId) return;
    const to = this.spotAt(viewOf(canvas, event), this.drag.height);
    if (to === null) return;
    this.drag.to = to;
    this.draw(this.drag);
  }

  private up(canvas: HTMLCanvasElement, event: PointerEvent): void {
    const drag = this.drag;
    if (drag?.pointer !== event.pointerId) return;
    this.drag = null;
    this.preview.clear();
    drag.to = this.spotAt(viewOf(canvas, event), drag.height) ?? drag.to;
    if (this.active === "probe") this.sendRay(drag);
    const command = this.command(drag);
    if (command) this.around.send(command);
  }

  private cancelDrag(): void {
    this.drag = null;
    this.preview.clear();
  }

  private draw(drag: Drag): void {
    if (this.active === "static") {
      const drawn = this.static(drag);
      if (drawn) this.preview.showStatic(drawn);
      else this.preview.clear();
    } else if (this.active === "region") {
      const colour = regionColour(Number(this.server.value));
      this.preview.showRegion(snapped(drag.from, drag.to, this.around.regions()), drag.height, colour);
    } else if (this.active === "probe" && isLong(drag)) {
      this.preview.showRay(above(drag.from, drag.height), above(drag.to, drag.height), false);
    }
  }

  private command(drag: Drag): Command | null {
    if (this.active === "static") {
      const drawn = this.static(drag);
      return drawn && staticCommand(drawn);
    }
    if (this.active !== "region" || !isLong(drag)) return null;
    const regions = this.around.regions();
    return regionCommand(Number(this.server.value), snapped(drag.from, drag.to, regions), regions);
  }

  private static({ from, to, height }: Drag): ReturnType<typeof drawnStatic> {
    const drawn = drawnStatic(this.form.value as StaticForm, from, to, Number(this.height.value));
    if (drawn) drawn.position[1] += height;
    return drawn;
  }

  private sendRay(drag: Drag): void {
    if (isLong(drag)) {
      const [from, to] = [above(drag.from, drag.height), above(drag.to, drag.height)];
      this.probe.send(from, to.map((value, axis) => value - from[axis]) as Vec3, from);
      return;
    }
    const { origin, direction } = this.rig.ray(...drag.view);
    // Seen from the eye itself the line would be a point.
    const shown = origin.clone();
    shown.y -= 0.6;
    this.probe.send(origin.toArray(), direction.toArray(), shown.toArray());
  }

  private spotAt(view: [number, number], height: number): Spot | null {
    const { origin, direction } = this.rig.ray(...view);
    return groundSpot(origin.toArray(), direction.toArray(), height);
  }
}

function viewOf(canvas: HTMLCanvasElement, event: PointerEvent): [number, number] {
  const box = canvas.getBoundingClientRect();
  return [((event.clientX - box.left) / box.width) * 2 - 1, 1 - ((event.clientY - box.top) / box.height) * 2];
}

function isLong({ from, to }: Drag): boolean {
  return Math.hypot(to[0] - from[0], to[1] - from[1]) >= DRAG_MIN;
}

function above(spot: Spot, height: number): Vec3 {
  return [spot[0], height + RAY_HEIGHT, spot[1]];
}

/**
 * Every key of the viewer, once: `controls.ts` and `camera.ts` bind what stands here, `help.ts` lists it, and buttons
 * take the key they name from it. A key that is not in this table does nothing.
 */

import type { OverlayId } from "./overlays";

export type Action =
  | "throw"
  | "let go"
  | "follow"
  | "pause"
  | "step"
  | "reset"
  | "slower"
  | "faster"
  | "mode"
  | "frame"
  | `show ${OverlayId}`
  | "draw static"
  | "draw region"
  | "probe"
  | "scene"
  | "link"
  | "low bandwidth"
  | "panels"
  | "record"
  | "help";

/** What a held key does while flying. */
export type Motion = "ahead" | "back" | "left" | "right" | "up" | "down" | "faster";

export type Group = "Bodies" | "Tools" | "Time" | "Camera" | "Show" | "Page";

export const GROUPS: readonly Group[] = ["Bodies", "Tools", "Time", "Camera", "Show", "Page"];

/** Keys that do something once when pressed. */
export interface Press {
  action: Action;
  group: Group;
  /** `KeyboardEvent.key` in lower case, the usual one first. */
  keys: readonly string[];
  about: string;
  /** Does it again while the key is held down. */
  repeats?: true;
}

/** Keys that move the eye for as long as they are held, in fly mode only. */
export interface Hold {
  motion: Motion;
  /** `KeyboardEvent.code`: the place on the keyboard counts here, not the letter. */
  codes: readonly string[];
}

/** What the mouse does; only told, since gestures are not bound by a table. */
export interface Gesture {
  gesture: string;
  group: Group;
  about: string;
}

export const PRESSES: readonly Press[] = [
  { action: "throw", group: "Bodies", keys: ["t"], about: "throw a body along the view", repeats: true },
  { action: "follow", group: "Bodies", keys: ["f"], about: "follow the picked body with the camera, or stop following" },
  { action: "let go", group: "Bodies", keys: ["escape"], about: "end what is being drawn, the tool, following; then let go of the picked body" },
  { action: "draw static", group: "Tools", keys: ["n"], about: "draw a static: drag on the ground" },
  { action: "draw region", group: "Tools", keys: ["g"], about: "draw a region: drag a rectangle on the ground" },
  { action: "probe", group: "Tools", keys: ["y"], about: "ray probe: click, or drag along the ground" },
  { action: "pause", group: "Time", keys: [" "], about: "stop and resume time" },
  { action: "step", group: "Time", keys: ["."], about: "one tick while paused", repeats: true },
  { action: "reset", group: "Time", keys: ["r"], about: "load this world again" },
  { action: "slower", group: "Time", keys: ["["], about: "slower" },
  { action: "faster", group: "Time", keys: ["]"], about: "faster" },
  { action: "mode", group: "Camera", keys: ["v"], about: "orbit or fly" },
  { action: "frame", group: "Camera", keys: ["h"], about: "look at the scene; again for all of a wide one" },
  { action: "show regions", group: "Show", keys: ["1", "b"], about: "regions" },
  { action: "show auras", group: "Show", keys: ["2"], about: "auras" },
  { action: "show clusters", group: "Show", keys: ["3"], about: "clusters" },
  { action: "show in-transit", group: "Show", keys: ["4"], about: "bodies in transit" },
  { action: "show breaches", group: "Show", keys: ["5"], about: "breaches" },
  { action: "scene", group: "Show", keys: ["i"], about: "facts of the scene and its servers" },
  { action: "link", group: "Show", keys: ["l"], about: "figures of the link: bytes, jitter, round trip" },
  { action: "low bandwidth", group: "Page", keys: ["k"], about: "low bandwidth: be sent only what is in view, or everything again" },
  { action: "panels", group: "Page", keys: ["p"], about: "show or hide all panels" },
  { action: "record", group: "Page", keys: ["c"], about: "record the picture to a file, or stop" },
  { action: "help", group: "Page", keys: ["?"], about: "this list" },
];

export const HOLDS: readonly Hold[] = [
  { motion: "ahead", codes: ["KeyW"] },
  { motion: "left", codes: ["KeyA"] },
  { motion: "back", codes: ["KeyS"] },
  { motion: "right", codes: ["KeyD"] },
  { motion: "down", codes: ["KeyQ"] },
  { motion: "up", codes: ["KeyE"] },
  { motion: "faster", codes: ["ShiftLeft", "ShiftRight"] },
];

export const GESTURES: readonly Gesture[] = [
  { gesture: "click", group: "Bodies", about: "pick a body: its id, owner, epoch and who had it before" },
  { gesture: "Shift + click", group: "Bodies", about: "throw towards the pointer" },
  { gesture: "drag, wheel", group: "Camera", about: "turn and come nearer; in fly mode look around and set the pace" },
];

const BY_KEY = new Map(PRESSES.flatMap((press) => press.keys.map((key) => [key, press] as const)));
const BY_CODE = new Map(HOLDS.flatMap((hold) => hold.codes.map((code) => [code, hold.motion] as const)));

/** What a key does, by `KeyboardEvent.key` in any case. */
export function pressOf(key: string): Press | undefined {
  return BY_KEY.get(key.toLowerCase());
}

/** What holding a key does while flying, by `KeyboardEvent.code`. */
export function motionOf(code: string): Motion | undefined {
  return BY_CODE.get(code);
}

/** The usual key of an action, as it is written on the keyboard. */
export function keyOf(action: Action): string {
  const press = PRESSES.find((candidate) => candidate.action === action);
  return press ? keyLabel(press.keys[0]) : "";
}

/** A key as it is written on the keyboard. */
export function keyLabel(key: string): string {
  if (key === " ") return "Space";
  if (key === "escape") return "Esc";
  return key.toUpperCase();
}

/** The key at a place on the keyboard, as it is written there. */
export function codeLabel(code: string): string {
  return code.replace(/^Key/, "").replace(/^Shift.*/, "Shift");
}

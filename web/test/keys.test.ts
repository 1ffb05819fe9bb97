import { expect, test } from "vitest";
import { helpGroups } from "../src/help";
import { codeLabel, GESTURES, HOLDS, keyLabel, keyOf, motionOf, PRESSES, pressOf } from "../src/keys";
import { OVERLAYS } from "../src/overlays";

test("no key does two things", () => {
  const keys = PRESSES.flatMap((press) => press.keys);
  expect(new Set(keys).size).toBe(keys.length);
  const codes = HOLDS.flatMap((hold) => hold.codes);
  expect(new Set(codes).size).toBe(codes.length);
  // Held keys come first while flying, so a letter among them could not be pressed then.
  const held = new Set(codes.map((code) => codeLabel(code).toLowerCase()));
  expect(keys.filter((key) => held.has(key))).toEqual([]);
});

test("no action stands twice, and every overlay has its key", () => {
  const actions = PRESSES.map((press) => press.action);
  expect(new Set(actions).size).toBe(actions.length);
  for (const { id } of OVERLAYS) expect(actions).toContain(`show ${id}`);
});

test("keys are found in either case, as browsers name them", () => {
  for (const press of PRESSES) {
    for (const key of press.keys) {
      expect(key).toBe(key.toLowerCase());
      expect(pressOf(key)).toBe(press);
      expect(pressOf(key.toUpperCase())).toBe(press);
    }
  }
  expect(pressOf("Escape")?.action).toBe("let go");
  expect(pressOf("F")?.action).toBe("follow");
  expect(pressOf("F12")).toBeUndefined();
  expect(motionOf("KeyW")).toBe("ahead");
  expect(motionOf("ShiftRight")).toBe("faster");
  expect(motionOf("KeyT")).toBeUndefined();
});

test("the help has every key, every motion and every gesture, and nothing else", () => {
  const lines = helpGroups().flatMap((group) => group.lines);
  const told = lines.flatMap((line) => line.keys).sort();
  const bound = [
    ...PRESSES.flatMap((press) => press.keys.map(keyLabel)),
    ...new Set(HOLDS.flatMap((hold) => hold.codes.map(codeLabel))),
  ].sort();
  expect(told).toEqual(bound);
  for (const { motion } of HOLDS) expect(lines.some((line) => line.about.includes(motion))).toBe(true);
  for (const { gesture, about } of GESTURES) expect(lines).toContainEqual({ keys: [], gesture, about });
  expect(lines.length).toBe(PRESSES.length + GESTURES.length + 1);
});

test("keys are written as on the keyboard", () => {
  expect([keyOf("pause"), keyOf("let go"), keyOf("follow"), keyOf("help")]).toEqual(["Space", "Esc", "F", "?"]);
  expect([codeLabel("KeyW"), codeLabel("ShiftLeft")]).toEqual(["W", "Shift"]);
});

import { Vector3 } from "three";
import { expect, test } from "vitest";
import type { Command } from "@nimbus/client";
import { throwCommand } from "../src/throw";

const BALL = { ball: { radius: 0.4 } };
const WORLD = { min: [-10, -10, null], max: [10, 10, null] };

function start(command: Command | null): number[] {
  if (command?.type !== "spawn") throw new Error("not a spawn");
  return command.position;
}

test("a body thrown inside the world starts before the lens", () => {
  const command = throwCommand(BALL, new Vector3(0, 0, 0), new Vector3(1, 0, 0), 20, WORLD);
  expect(start(command)).toEqual([1.8, 0, 0]);
});

test("a body thrown from outside starts where the line of sight enters", () => {
  const command = throwCommand(BALL, new Vector3(-50, 0, 7), new Vector3(1, 0, 0), 20, WORLD);
  expect(start(command)).toEqual([-9, 0, 7]);
});

test("a line of sight that misses the world throws nothing", () => {
  expect(throwCommand(BALL, new Vector3(-50, 0, 0), new Vector3(-1, 0, 0), 20, WORLD)).toBeNull();
  expect(throwCommand(BALL, new Vector3(0, 30, 0), new Vector3(1, 0, 0), 20, WORLD)).toBeNull();
});

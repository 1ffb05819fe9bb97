import type { InstancedMesh } from "three";
import { describe, expect, test } from "vitest";
import { BodiesView } from "../src/bodies_view";
import { regionLinear } from "../src/palette";
import { decode, Replicas } from "@nimbus/client";
import { createMessage, destroyMessage, numbers, ownerMessage, stateMessage } from "../../sdk/typescript/test/messages";

function setup(): { view: BodiesView; replicas: Replicas; apply: (message: ArrayBuffer, now?: number) => void } {
  const view = new BodiesView();
  let clock = 0;
  const replicas: Replicas = new Replicas({
    created: (slot) => view.created(replicas, slot),
    destroyed: (slot) => view.destroyed(slot),
    ownerChanged: (slot) => view.ownerChanged(replicas, slot, clock),
  });
  view.announce(0, { cuboid: { half: [0.5, 1, 2] } });
  view.announce(1, { ball: { radius: 0.3 } });
  const apply = (message: ArrayBuffer, now = 0): void => {
    clock = now;
    decode(message, replicas);
  };
  return { view, replicas, apply };
}

/** What is drawn: for each slot the place in its instance's matrix, found through the meshes alone. */
function drawnPlaces(view: BodiesView): Map<number, number[]> {
  const places = new Map<number, number[]>();
  for (const child of view.group.children) {
    const mesh = child as InstancedMesh;
    for (let i = 0; i < mesh.count; i++) {
      places.set(view.slotAt(mesh, i), [...mesh.instanceMatrix.array.slice(i * 16 + 12, i * 16 + 15)]);
    }
  }
  return places;
}

function colourOf(view: BodiesView, slot: number): number[] {
  for (const child of view.group.children) {
    const mesh = child as InstancedMesh;
    for (let i = 0; i < mesh.count; i++) {
      if (view.slotAt(mesh, i) === slot) return [...(mesh.instanceColor?.array ?? []).slice(i * 3, i * 3 + 3)];
    }
  }
  throw new Error("not drawn");
}

describe("instances", () => {
  test("follow any history of births, deaths and motion, through growth and swaps", () => {
    const { view, replicas, apply } = setup();
    // Nobody goes on by itself, so that everybody is where the last state says.
    replicas.extrapolationTicks = 0;
    const next = numbers(21);
    const truth = new Map<number, number[]>();
    for (let tick = 1; tick < 600; tick++) {
      const slot = Math.floor(next() * 120);
      const position: [number, number, number] = [Math.fround(next()), Math.fround(next()), tick];
      if (!truth.has(slot)) {
        apply(createMessage([{ slot, shape: slot % 2, position }]));
        truth.set(slot, position);
      } else if (next() < 0.3) {
        apply(destroyMessage([slot]));
        truth.delete(slot);
      } else {
        apply(stateMessage(tick, [{ slot, position }]));
        truth.set(slot, position);
      }
      if (tick % 7 === 0) {
        replicas.advance(replicas.latestTick);
        view.update(replicas, 0);
        expect(drawnPlaces(view)).toEqual(truth);
        expect(replicas.activeCount).toBe(0);
      }
    }
    expect(truth.size).toBeGreaterThan(40);
  });

  test("carry the size of their shape", () => {
    const { view, replicas, apply } = setup();
    apply(createMessage([{ slot: 0, shape: 0 }]));
    view.update(replicas, 0);
    const matrix = (view.group.children[0] as InstancedMesh).instanceMatrix.array;
    expect([matrix[0], matrix[5], matrix[10]]).toEqual([0.5, 1, 2]);
  });

  test("a body of an unknown shape is still drawn", () => {
    const { view, replicas, apply } = setup();
    apply(createMessage([{ slot: 0, shape: 77, position: [1, 2, 3] }]));
    view.update(replicas, 0);
    expect(drawnPlaces(view)).toEqual(new Map([[0, [1, 2, 3]]]));
  });
});

describe("colours", () => {
  const hue = (colour: readonly number[]): number[] => colour.map((c) => c / Math.max(...colour));

  test("a hand-over recolours, glows and fades; the body stays where it is", () => {
    const { view, replicas, apply } = setup();
    apply(createMessage([{ slot: 3, shape: 0, region: 0, position: [1, 2, 3] }]));
    view.update(replicas, 0);
    const before = colourOf(view, 3);
    hue(before).forEach((c, k) => expect(c).toBeCloseTo(hue(regionLinear(0))[k], 4));
    apply(ownerMessage([[3, 1]]), 1000);
    const glowing = colourOf(view, 3);
    view.update(replicas, 1200);
    const fading = colourOf(view, 3);
    view.update(replicas, 1500);
    const after = colourOf(view, 3);
    const light = (colour: number[]): number => colour[0] + colour[1] + colour[2];
    expect(light(glowing)).toBeGreaterThan(light(fading));
    expect(light(fading)).toBeGreaterThan(light(after));
    hue(after).forEach((c, k) => expect(c).toBeCloseTo(hue(regionLinear(1))[k], 4));
    expect(view.handOvers(3)).toBe(1);
    expect(drawnPlaces(view).get(3)).toEqual([1, 2, 3]);
  });
});

import { beforeEach, expect, test } from "vitest";
import { Follow } from "../src/follow";

type Place = [number, number, number];

let bodies: Map<number, { nid: string; place: Place }>;
let seen: string[];
let follow: Follow;

beforeEach(() => {
  bodies = new Map([[3, { nid: "1.7", place: [1, 2, 3] }]]);
  seen = [];
  follow = new Follow(
    {
      nid: (slot) => bodies.get(slot)?.nid ?? null,
      place: (slot) => bodies.get(slot)?.place ?? [0, 0, 0],
      radius: () => 2,
    },
    {
      startFollowing: (place, distance) => seen.push(`start ${place} at ${distance}`),
      followTo: (place) => seen.push(`to ${place}`),
      stopFollowing: () => seen.push("stop"),
    },
    (nid, end) => seen.push(`${nid} ${end ?? "followed"}`),
  );
});

test("the eye keeps to the body until somebody lets go", () => {
  follow.start(3);
  expect(follow.nid).toBe("1.7");
  bodies.set(3, { nid: "1.7", place: [4, 5, 6] });
  follow.frame();
  follow.stop();
  follow.frame();
  follow.stop();
  expect(seen).toEqual(["start 1,2,3 at 24", "1.7 followed", "to 4,5,6", "stop", "1.7 let go"]);
});

test("it ends when the body dies, and says so once", () => {
  follow.start(3);
  bodies.delete(3);
  follow.frame();
  follow.frame();
  expect(follow.nid).toBeNull();
  expect(seen.slice(2)).toEqual(["stop", "1.7 dead"]);
});

test("another body in the same slot is not the one that was followed", () => {
  follow.start(3);
  bodies.set(3, { nid: "1.8", place: [9, 9, 9] });
  follow.frame();
  expect(seen.slice(2)).toEqual(["stop", "1.7 dead"]);
});

test("who stops because the body is gone is told so too", () => {
  follow.start(3);
  bodies.delete(3);
  follow.stop();
  expect(seen.at(-1)).toBe("1.7 dead");
});

test("an empty slot cannot be followed", () => {
  follow.start(5);
  follow.frame();
  expect(follow.nid).toBeNull();
  expect(seen).toEqual([]);
});

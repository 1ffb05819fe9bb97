import { Box3, PerspectiveCamera, Vector3 } from "three";
import { expect, test } from "vitest";
import { LowBandwidth, viewOf } from "../src/low_bandwidth";

const extent = new Box3(new Vector3(-10, 0, -10), new Vector3(10, 5, 10));

function camera(x: number): PerspectiveCamera {
  const made = new PerspectiveCamera(50, 1.6, 0.1, 6000);
  made.position.set(x, 10, 30);
  made.lookAt(0, 0, 0);
  made.updateMatrixWorld();
  return made;
}

test("a camera sees its picture and a little beside it", () => {
  const view = viewOf(camera(0), extent);
  expect(view.eye).toEqual([0, 10, 30]);
  expect(view.toward?.[2]).toBeLessThan(-0.9);
  expect(view.field).toBeGreaterThan(80);
  expect(view.field).toBeLessThan(120);
  expect(view.range).toBeGreaterThan(100);
  expect(view).toMatchObject({ packed: true, kbit: 1000 });
});

test("the gateway is told when the camera has moved, and not too often", () => {
  const low = new LowBandwidth(true);
  expect(low.due(viewOf(camera(0), extent), 0)).not.toBeNull();
  expect(low.due(viewOf(camera(9), extent), 100), "only just told").toBeNull();
  expect(low.due(viewOf(camera(9), extent), 400)).not.toBeNull();
  expect(low.due(viewOf(camera(9.1), extent), 5000), "nobody sees that").toBeNull();
  low.forget();
  expect(low.due(viewOf(camera(9), extent), 5001)).not.toBeNull();
  low.isOn = false;
  expect(low.due(viewOf(camera(0), extent), 9000)).toBeNull();
});

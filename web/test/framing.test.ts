import { Box3, PerspectiveCamera, Vector3 } from "three";
import { describe, expect, it } from "vitest";
import { cornersOf, framingOf, type Insets, NO_INSETS, type Viewport, viewShift } from "../src/framing";
import { FOLLOW_MS, OpeningLook, SETTLE_MS } from "../src/opening_look";
import { panelInsets } from "../src/panel_insets";

const FOV = 50;

const BOXES: Record<string, Box3> = {
  cube: new Box3(new Vector3(-5, 0, -5), new Vector3(5, 10, 5)),
  "tall tower far away": new Box3(new Vector3(300, 0, -203), new Vector3(306, 60, -197)),
  "long row": new Box3(new Vector3(-200, 0, -8), new Vector3(200, 3, 8)),
  "deep row": new Box3(new Vector3(-3, -20, -300), new Vector3(3, -18, 10)),
  "wide flat field": new Box3(new Vector3(-150, 0, -150), new Vector3(150, 2, 150)),
};
const VIEWS: [Viewport, Insets][] = [
  [{ width: 1280, height: 800 }, { left: 344, right: 302, top: 0, bottom: 110 }],
  [{ width: 1280, height: 800 }, { left: 0, right: 302, top: 260, bottom: 110 }],
  [{ width: 1920, height: 1080 }, { left: 344, right: 302, top: 0, bottom: 110 }],
  [{ width: 390, height: 844 }, { left: 0, right: 0, top: 180, bottom: 210 }],
  [{ width: 800, height: 600 }, NO_INSETS],
];

/** Where the corners of a box are in the framed view, pixels from the upper left. */
function cornersSeen(bounds: Box3, viewport: Viewport, insets: Insets): { x: number; y: number }[] {
  const { position, target, distance } = framingOf(bounds, FOV, viewport, insets);
  const camera = new PerspectiveCamera(FOV, viewport.width / viewport.height, 0.1, 1e5);
  const shift = viewShift(viewport, insets);
  camera.setViewOffset(viewport.width, viewport.height, shift.x, shift.y, viewport.width, viewport.height);
  camera.position.copy(position);
  camera.lookAt(target);
  camera.updateMatrixWorld();
  expect(position.distanceTo(target)).toBeCloseTo(distance, 4);
  return cornersOf(bounds).map((corner) => {
    const { x, y, z } = corner.project(camera);
    expect(Math.abs(z), "before the camera").toBeLessThan(1);
    return { x: ((x + 1) / 2) * viewport.width, y: ((1 - y) / 2) * viewport.height };
  });
}

describe("a framed box", () => {
  for (const [name, bounds] of Object.entries(BOXES)) {
    it(`has its corners beside the panels and fills what is free: ${name}`, () => {
      for (const [viewport, insets] of VIEWS) {
        const corners = cornersSeen(bounds, viewport, insets);
        const [xs, ys] = [corners.map(({ x }) => x), corners.map(({ y }) => y)];
        expect(Math.min(...xs)).toBeGreaterThan(insets.left);
        expect(Math.max(...xs)).toBeLessThan(viewport.width - insets.right);
        expect(Math.min(...ys)).toBeGreaterThan(insets.top);
        expect(Math.max(...ys)).toBeLessThan(viewport.height - insets.bottom);
        const wide = (Math.max(...xs) - Math.min(...xs)) / (viewport.width - insets.left - insets.right);
        const high = (Math.max(...ys) - Math.min(...ys)) / (viewport.height - insets.top - insets.bottom);
        expect(Math.max(wide, high)).toBeCloseTo(0.88, 2);
      }
    });
  }

  it("is not looked at from within, however small", () => {
    const speck = new Box3(new Vector3(1, 1, 1), new Vector3(1.01, 1.01, 1.01));
    expect(framingOf(speck, FOV, { width: 800, height: 600 }).distance).toBeGreaterThanOrEqual(4);
  });

  it("is in the view also where panels cover all of it", () => {
    const viewport = { width: 400, height: 300 };
    for (const { x, y } of cornersSeen(BOXES.cube, viewport, { left: 300, right: 300, top: 200, bottom: 200 })) {
      expect(x > 0 && x < viewport.width && y > 0 && y < viewport.height).toBe(true);
    }
  });
});

describe("what panels leave free", () => {
  const left = { left: 14, right: 344, top: 14, bottom: 250 };
  const right = { left: 978, right: 1266, top: 14, bottom: 104 };
  const foot = { left: 200, right: 1080, top: 690, bottom: 786 };

  it("is between the columns, or below the cards at the left when that is more", () => {
    const viewport = { width: 1280, height: 800 };
    expect(panelInsets(viewport, { left, right, foot })).toEqual({ left: 344, right: 302, top: 0, bottom: 110 });
    const flat = { ...left, bottom: 90 };
    expect(panelInsets(viewport, { left: flat, right, foot })).toEqual({ left: 0, right: 302, top: 90, bottom: 110 });
  });

  it("is between the rows of a narrow view, and everything without panels", () => {
    const narrow = {
      left: { left: 8, right: 198, top: 8, bottom: 170 },
      right: { left: 208, right: 382, top: 8, bottom: 120 },
    };
    const viewport = { width: 390, height: 844 };
    const insets = panelInsets(viewport, { ...narrow, foot: { left: 8, right: 382, top: 640, bottom: 836 } });
    expect(insets).toEqual({ left: 0, right: 0, top: 170, bottom: 204 });
    expect(panelInsets(viewport, { left: null, right: null, foot: null })).toEqual(NO_INSETS);
  });
});

describe("the first look", () => {
  it("is at what there is, and once more when bodies come, however late", () => {
    const look = new OpeningLook();
    look.opened(1000);
    expect(look.frame(1010, 0, true, false)).toBe("jump");
    expect(look.frame(1020, 0, false, false)).toBe("none");
    const late = 1000 + FOLLOW_MS * 3;
    expect(look.frame(late, 4, true, false)).toBe("glide");
    expect(look.frame(late + 1000, 90, true, false), "they spread").toBe("glide");
    expect(look.frame(late + 1010, 90, false, false)).toBe("none");
    expect(look.frame(late + FOLLOW_MS + 1, 900, true, false), "long after").toBe("none");
  });

  it("comes at once when the bodies do, and anew with the next world", () => {
    const look = new OpeningLook();
    look.opened(0);
    expect(look.frame(SETTLE_MS / 2, 10, true, false)).toBe("jump");
    look.opened(90_000);
    expect(look.frame(90_010, 0, true, false)).toBe("jump");
    expect(look.frame(90_000 + SETTLE_MS + 1, 3, false, false)).toBe("glide");
  });

  it("leaves a camera alone that a person has moved", () => {
    const look = new OpeningLook();
    look.opened(0);
    expect(look.frame(10, 0, true, true)).toBe("none");
    expect(look.frame(20, 5, true, true)).toBe("none");
  });
});

/** Small stand-in worlds for the mock gateway: enough motion to see, no real physics. */

const STILL = [0, 0, 0, 1];
const ground = { shape: { cuboid: { half: [250, 0.5, 250] } }, position: [0, -0.5, 0], rotation: STILL };

/** Four regions that meet in a corner at the origin. */
export const REGIONS = [
  { id: 0, boxes: [{ min: [null, null, null], max: [0, null, 0] }] },
  { id: 1, boxes: [{ min: [0, null, null], max: [null, null, 0] }] },
  { id: 2, boxes: [{ min: [null, null, 0], max: [0, null, null] }] },
  { id: 3, boxes: [{ min: [0, null, 0], max: [null, null, null] }] },
];

const SHAPES = [
  { ball: { radius: 0.4 } },
  { cuboid: { half: [0.4, 0.4, 0.4] } },
  { cuboid: { half: [0.7, 0.2, 0.35] } },
  { capsule: { half_height: 0.35, radius: 0.28 } },
  { cylinder: { half_height: 0.35, radius: 0.35 } },
  { cone: { half_height: 0.45, radius: 0.4 } },
  { "convex-hull": { points: [[0.5, 0, 0], [-0.5, 0, 0], [0, 0.6, 0], [0, -0.4, 0], [0, 0, 0.5], [0.1, 0.1, -0.5]] } },
  {
    compound: {
      parts: [
        [{ position: [0, -0.4, 0], rotation: STILL }, { ball: { radius: 0.3 } }],
        [{ position: [0, 0.4, 0], rotation: STILL }, { cuboid: { half: [0.25, 0.25, 0.25] } }],
      ],
    },
  },
];

/** A repeatable stream of numbers from 0 to 1. */
export function numbers(seed) {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 4294967296;
  };
}

export const SCENES = {
  rain: {
    about: "Bodies of all kinds fall and bounce across four servers.",
    make(count) {
      const next = numbers(7);
      const wall = (x, z, hx, hz) => ({ shape: { cuboid: { half: [hx, 0.6, hz] } }, position: [x, 0.6, z], rotation: STILL });
      const bodies = Array.from({ length: count }, () => ({
        shape: SHAPES[Math.floor(next() * SHAPES.length)],
        position: [(next() - 0.5) * 28, 1 + next() * 16, (next() - 0.5) * 28],
        velocity: [(next() - 0.5) * 6, 0, (next() - 0.5) * 6],
        spin: [next() - 0.5, next() - 0.5, next() - 0.5].map((s) => s * 4),
      }));
      const statics = [ground, wall(-16, 0, 0.3, 16), wall(16, 0, 0.3, 16), wall(0, -16, 16, 0.3)];
      statics.push({ shape: { cuboid: { half: [4, 0.25, 3] } }, position: [-6, 1.2, 5], rotation: [0, 0, 0.17, 0.985] });
      return { statics, bodies, half: 15.5 };
    },
  },
  carousel: {
    about: "A ring of bodies that changes servers four times a round.",
    make(count) {
      const bodies = Array.from({ length: Math.min(count, 120) }, (_, i) => ({
        shape: SHAPES[i % SHAPES.length],
        kind: 1,
        ring: { radius: 6 + (i % 3) * 2.5, angle: (i / Math.min(count, 120)) * Math.PI * 2, height: 1 + (i % 3) * 1.4 },
      }));
      return { statics: [ground], bodies, half: 14 };
    },
  },
  hills: {
    about: "A height field and a mesh, with a few balls above them.",
    make(count) {
      const rows = 33;
      const heights = [];
      for (let r = 0; r < rows; r++) {
        for (let c = 0; c < rows; c++) heights.push(Math.sin(r / 4) * Math.cos(c / 5) * 0.5 + 0.5);
      }
      const field = { "height-field": { rows, columns: rows, heights, scale: [44, 3, 44] } };
      const pyramid = {
        "tri-mesh": {
          vertices: [[-3, 0, -3], [3, 0, -3], [3, 0, 3], [-3, 0, 3], [0, 5, 0]],
          triangles: [[1, 0, 4], [2, 1, 4], [3, 2, 4], [0, 3, 4]],
        },
      };
      const next = numbers(3);
      const bodies = Array.from({ length: Math.min(count, 60) }, () => ({
        shape: SHAPES[0],
        position: [(next() - 0.5) * 30, 4 + next() * 8, (next() - 0.5) * 30],
        velocity: [(next() - 0.5) * 4, 0, (next() - 0.5) * 4],
        spin: [1, 0, 1],
        floor: 3.2,
      }));
      const statics = [
        { shape: field, position: [0, 0, 0], rotation: STILL },
        { shape: pyramid, position: [9, 2, -8], rotation: STILL },
      ];
      return { statics, bodies, half: 18 };
    },
  },
};

/**
 * Turns shape descriptions into geometry.
 *
 * Shapes that differ only in size share one geometry and carry their size as the instance's scale, so that a world of
 * ten thousand different boxes is still one draw call. All geometry has positions, normals and vertex colours and no
 * index, so that any two can be joined.
 */

import {
  BoxGeometry,
  BufferAttribute,
  BufferGeometry,
  CapsuleGeometry,
  ConeGeometry,
  CylinderGeometry,
  Matrix4,
  Quaternion,
  SphereGeometry,
  Vector3,
} from "three";
import { ConvexGeometry } from "three/addons/geometries/ConvexGeometry.js";
import type { Quat, Shape, Vec3 } from "@nimbus/client";

/** What a shape looks like: shapes of one `key` share a geometry. */
export interface Form {
  key: string;
  scale: Vec3;
  build: () => BufferGeometry;
}

/** What is drawn for a shape that cannot be understood: small, but there. */
const FALLBACK: Form = { key: "cuboid", scale: [0.15, 0.15, 0.15], build: cuboid };

/** How a shape is drawn. Never throws: a shape that makes no sense becomes a small box. */
export function formOf(shape: Shape): Form {
  try {
    const form = describe(shape);
    return form.scale.every((s) => Number.isFinite(s) && s > 0) ? form : FALLBACK;
  } catch {
    return FALLBACK;
  }
}

/** The geometry of a form, or that of a box when it cannot be made. */
export function buildForm(form: Form): BufferGeometry {
  try {
    const geometry = form.build();
    geometry.computeBoundingBox();
    const box = geometry.boundingBox;
    if (box && Number.isFinite(box.min.x + box.max.x + box.min.y + box.max.y + box.min.z + box.max.z)) return geometry;
  } catch {
    // Degenerate points and the like; the box below stands in.
  }
  const geometry = cuboid();
  geometry.computeBoundingBox();
  return geometry;
}

/** The radius of the sphere around a shape's origin that holds it, as servers reckon it; small for nonsense. */
export function boundingRadius(shape: Shape): number {
  const radius = radiusOf(shape);
  return Number.isFinite(radius) && radius > 0 ? radius : 0.2;
}

function radiusOf(shape: Shape): number {
  const farthest = (points: Vec3[]): number => points.reduce((most, point) => Math.max(most, Math.hypot(...point)), 0);
  const upright = ({ half_height, radius }: { half_height: number; radius: number }): number =>
    Math.hypot(radius, half_height, radius);
  if (typeof shape !== "object" || shape === null) return 0;
  try {
    if ("ball" in shape) return shape.ball.radius;
    if ("cuboid" in shape) return Math.hypot(...shape.cuboid.half);
    if ("capsule" in shape) return shape.capsule.half_height + shape.capsule.radius;
    if ("cylinder" in shape) return upright(shape.cylinder);
    if ("cone" in shape) return upright(shape.cone);
    if ("convex-hull" in shape) return farthest(shape["convex-hull"].points);
    if ("compound" in shape) {
      return shape.compound.parts.reduce((r, [pose, part]) => Math.max(r, Math.hypot(...pose.position) + radiusOf(part)), 0);
    }
    return 0;
  } catch {
    return 0;
  }
}

let unique = 0;

function describe(shape: Shape): Form {
  if ("ball" in shape) {
    const r = shape.ball.radius;
    return { key: "ball", scale: [r, r, r], build: ball };
  }
  if ("cuboid" in shape) {
    const [x, y, z] = shape.cuboid.half;
    return { key: "cuboid", scale: [x, y, z], build: cuboid };
  }
  if ("capsule" in shape) {
    const { half_height, radius } = shape.capsule;
    const ratio = Math.round((half_height / radius) * 1000) / 1000;
    return {
      key: `capsule ${ratio}`,
      scale: [radius, radius, radius],
      build: () => prepared(new CapsuleGeometry(1, ratio * 2, 5, 14), beachBall),
    };
  }
  if ("cylinder" in shape) {
    const { half_height, radius } = shape.cylinder;
    return {
      key: "cylinder",
      scale: [radius, half_height, radius],
      build: () => prepared(new CylinderGeometry(1, 1, 2, 20), beachBall),
    };
  }
  if ("cone" in shape) {
    const { half_height, radius } = shape.cone;
    return {
      key: "cone",
      scale: [radius, half_height, radius],
      build: () => prepared(new ConeGeometry(1, 2, 20), beachBall),
    };
  }
  if ("convex-hull" in shape) {
    const points = shape["convex-hull"].points;
    return { key: keyFor(shape, points.length), scale: [1, 1, 1], build: () => hull(points) };
  }
  if ("compound" in shape) {
    const parts = shape.compound.parts;
    return { key: keyFor(shape, parts.length), scale: [1, 1, 1], build: () => compound(parts) };
  }
  if ("tri-mesh" in shape) {
    const { vertices, triangles } = shape["tri-mesh"];
    return { key: `mesh ${unique++}`, scale: [1, 1, 1], build: () => triMesh(vertices, triangles) };
  }
  if ("height-field" in shape) {
    const field = shape["height-field"];
    return { key: `mesh ${unique++}`, scale: [1, 1, 1], build: () => heightField(field) };
  }
  return FALLBACK;
}

function keyFor(shape: Shape, elements: number): string {
  return elements <= 64 ? JSON.stringify(shape) : `mesh ${unique++}`;
}

function ball(): BufferGeometry {
  return prepared(new SphereGeometry(1, 16, 12), beachBall);
}

function cuboid(): BufferGeometry {
  return prepared(new BoxGeometry(2, 2, 2));
}

function hull(points: Vec3[]): BufferGeometry {
  return prepared(new ConvexGeometry(points.map((p) => new Vector3(...p))));
}

function compound(parts: [{ position: Vec3; rotation: Quat }, Shape][]): BufferGeometry {
  const pieces = parts.map(([pose, shape]) => {
    const form = formOf(shape);
    const geometry = buildForm(form);
    const place = new Matrix4().compose(
      new Vector3(...pose.position),
      new Quaternion(...pose.rotation),
      new Vector3(...form.scale),
    );
    return geometry.applyMatrix4(place);
  });
  const joined = new BufferGeometry();
  for (const name of ["position", "normal", "color"]) {
    const arrays = pieces.map((piece) => piece.getAttribute(name).array as Float32Array);
    const all = new Float32Array(arrays.reduce((sum, array) => sum + array.length, 0));
    let at = 0;
    for (const array of arrays) {
      all.set(array, at);
      at += array.length;
    }
    joined.setAttribute(name, new BufferAttribute(all, 3));
  }
  return joined;
}

function triMesh(vertices: Vec3[], triangles: Vec3[]): BufferGeometry {
  const positions = new Float32Array(triangles.length * 9);
  let at = 0;
  for (const triangle of triangles) {
    for (const corner of triangle) {
      const vertex = vertices[corner];
      positions[at++] = vertex[0];
      positions[at++] = vertex[1];
      positions[at++] = vertex[2];
    }
  }
  return faceted(positions);
}

function heightField(field: { rows: number; columns: number; heights: number[]; scale: Vec3 }): BufferGeometry {
  const { rows, columns, heights, scale } = field;
  if (rows < 2 || columns < 2 || heights.length < rows * columns) throw new Error("height field without heights");
  const positions = new Float32Array(rows * columns * 3);
  for (let row = 0, at = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++, at += 3) {
      positions[at] = (column / (columns - 1) - 0.5) * scale[0];
      positions[at + 1] = heights[row * columns + column] * scale[1];
      positions[at + 2] = (row / (rows - 1) - 0.5) * scale[2];
    }
  }
  const index: number[] = [];
  for (let row = 0; row + 1 < rows; row++) {
    for (let column = 0; column + 1 < columns; column++) {
      const a = row * columns + column;
      const b = a + columns;
      index.push(a, b, a + 1, a + 1, b, b + 1);
    }
  }
  const geometry = new BufferGeometry();
  geometry.setAttribute("position", new BufferAttribute(positions, 3));
  geometry.setIndex(index);
  geometry.computeVertexNormals();
  return prepared(geometry);
}

function faceted(positions: Float32Array): BufferGeometry {
  const geometry = new BufferGeometry();
  geometry.setAttribute("position", new BufferAttribute(positions, 3));
  geometry.computeVertexNormals();
  return prepared(geometry);
}

/** Strips what is not needed and adds a tone for each triangle, which the instance's colour is multiplied by. */
function prepared(source: BufferGeometry, tone?: (x: number, y: number, z: number) => number): BufferGeometry {
  const geometry = source.index ? source.toNonIndexed() : source;
  geometry.deleteAttribute("uv");
  geometry.clearGroups();
  const position = geometry.getAttribute("position");
  const colours = new Float32Array(position.count * 3).fill(1);
  if (tone) {
    for (let i = 0; i + 2 < position.count; i += 3) {
      const x = (position.getX(i) + position.getX(i + 1) + position.getX(i + 2)) / 3;
      const y = (position.getY(i) + position.getY(i + 1) + position.getY(i + 2)) / 3;
      const z = (position.getZ(i) + position.getZ(i + 1) + position.getZ(i + 2)) / 3;
      colours.fill(tone(x, y, z), i * 3, i * 3 + 9);
    }
  }
  geometry.setAttribute("color", new BufferAttribute(colours, 3));
  return geometry;
}

/** Quarters of two tones, so that one sees a round body turn. */
function beachBall(x: number, _y: number, z: number): number {
  return x > 0 === z > 0 ? 1 : 0.62;
}

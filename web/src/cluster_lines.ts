/** Which bodies hang together: thin lines from each member of a cluster to the nearest other, as a tree. */

import {
  AdditiveBlending,
  BufferAttribute,
  BufferGeometry,
  DynamicDrawUsage,
  LineBasicMaterial,
  LineSegments,
} from "three";
import type { BodiesView } from "./bodies_view";
import { regionLinear } from "./palette";
import type { Replicas } from "@nimbus/client";

/** Larger clusters are joined along a line instead of as the shortest tree, whose cost grows with the square. */
const TREE_MAX = 160;

export class ClusterLines {
  readonly lines: LineSegments;
  /** Pairs of slots to join. */
  private pairs = new Uint32Array(0);
  private readonly geometry = new BufferGeometry();
  private place = new Float32Array(0);
  private colour = new Float32Array(0);

  constructor() {
    const material = new LineBasicMaterial({
      vertexColors: true,
      transparent: true,
      opacity: 0.9,
      depthTest: false,
      depthWrite: false,
      blending: AdditiveBlending,
    });
    this.lines = new LineSegments(this.geometry, material);
    this.lines.frustumCulled = false;
    this.lines.renderOrder = 6;
    this.lines.visible = false;
  }

  /** Decides which bodies to join; called when clusters were told anew. */
  join(clusters: Uint32Array[], replicas: Replicas): void {
    const pairs: number[] = [];
    for (const cluster of clusters) {
      const known = [...cluster].filter((slot) => replicas.has(slot));
      const points = known.map((slot) => replicas.position(slot) ?? [0, 0, 0]);
      for (const [a, b] of treeOf(points)) pairs.push(known[a], known[b]);
    }
    this.pairs = Uint32Array.from(pairs);
  }

  /** Brings the ends of the lines to where the bodies are drawn. */
  update(bodies: BodiesView, replicas: Replicas): void {
    const ends = this.pairs.length;
    if (this.place.length < ends * 3) this.grow(ends * 2);
    let at = 0;
    for (let i = 0; i < ends; i += 2) {
      if (!replicas.has(this.pairs[i]) || !replicas.has(this.pairs[i + 1])) continue;
      for (let k = 0; k < 2; k++, at += 3) {
        const slot = this.pairs[i + k];
        bodies.placeOf(slot, this.place, at);
        const owner = regionLinear(replicas.region[slot]);
        // Lighter than the bodies themselves, so that a line is seen on top of its own colour.
        for (let c = 0; c < 3; c++) this.colour[at + c] = owner[c] * 0.5 + 0.35;
      }
    }
    this.lines.visible = at > 0;
    this.geometry.setDrawRange(0, at / 3);
    if (at === 0) return;
    this.geometry.getAttribute("position").needsUpdate = true;
    this.geometry.getAttribute("color").needsUpdate = true;
  }

  private grow(ends: number): void {
    this.place = new Float32Array(ends * 3);
    this.colour = new Float32Array(ends * 3);
    this.geometry.dispose();
    for (const [name, array] of [["position", this.place], ["color", this.colour]] as const) {
      const attribute = new BufferAttribute(array, 3);
      attribute.setUsage(DynamicDrawUsage);
      this.geometry.setAttribute(name, attribute);
    }
  }
}

/** Pairs of indices that join all points: the shortest tree, or a chain when there are very many. */
export function treeOf(points: number[][]): [number, number][] {
  const n = points.length;
  if (n > TREE_MAX) {
    const order = points.map((_, i) => i).sort((a, b) => points[a][0] - points[b][0] || points[a][2] - points[b][2]);
    return order.slice(1).map((to, i) => [order[i], to]);
  }
  const pairs: [number, number][] = [];
  const nearest = new Array<number>(n).fill(0);
  const gap = points.map((point) => square(point, points[0]));
  const joined = new Array<boolean>(n).fill(false);
  if (n > 0) joined[0] = true;
  for (let round = 1; round < n; round++) {
    let next = -1;
    for (let i = 0; i < n; i++) if (!joined[i] && (next < 0 || gap[i] < gap[next])) next = i;
    joined[next] = true;
    pairs.push([nearest[next], next]);
    for (let i = 0; i < n; i++) {
      const way = square(points[i], points[next]);
      if (joined[i] || way >= gap[i]) continue;
      gap[i] = way;
      nearest[i] = next;
    }
  }
  return pairs;
}

function square(a: number[], b: number[]): number {
  return (a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 + (a[2] - b[2]) ** 2;
}

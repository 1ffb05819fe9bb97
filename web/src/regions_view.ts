/**
 * Shows which server looks after which part of space: faint planes where two regions meet, edges around each box, and
 * a label that keeps its size on the screen. Boxes without an end are cut off at the extent of the scene.
 */

import {
  Box3,
  BufferAttribute,
  BufferGeometry,
  CanvasTexture,
  DoubleSide,
  Group,
  LineBasicMaterial,
  LineSegments,
  Mesh,
  MeshBasicMaterial,
  Sprite,
  SpriteMaterial,
  SRGBColorSpace,
  Vector3,
} from "three";
import { BACKGROUND, regionColour } from "./palette";
import type { Region, RegionBox } from "@nimbus/client";
import { regionLetter } from "./region_letter";

/** Planes of neighbours lie this far inside their own box, so that both can be seen, metres. */
const INSET = 0.02;
/** How far beyond the interesting part the boxes are drawn, as a share of its size. */
const MARGIN = 0.12;

/** Height of a label as a share of the height of the view. */
const LABEL_HEIGHT = 0.03;

const AXES = ["x", "y", "z"] as const;

export class RegionsView {
  readonly group = new Group();
  private disposables: { dispose(): void }[] = [];
  private readonly anchors = new Map<number, Vector3>();
  /** The names of the regions in the picture. */
  labels: Sprite[] = [];

  /** Draws the regions anew. `nameOf` gives the words on a region's label. */
  show(regions: Region[], extent: Box3, nameOf: (region: number) => string): void {
    for (const thing of this.disposables) thing.dispose();
    this.disposables = [];
    this.group.clear();
    this.anchors.clear();
    this.labels = [];
    if (regions.length === 0) return;
    const limits = drawnLimits(regions, extent);
    for (const region of regions) this.showRegion(region, limits, nameOf(region.id));
  }

  /** Where to point at a region as a whole: below its label. */
  anchor(region: number): [number, number, number] | null {
    const place = this.anchors.get(region);
    return place ? [place.x, place.y, place.z] : null;
  }

  private showRegion(region: Region, limits: Box3, name: string): void {
    const colour = regionColour(region.id);
    const planes: number[] = [];
    const edges: number[] = [];
    let widest: Box3 | null = null;
    for (const bounds of region.boxes) {
      const box = clipped(bounds, limits);
      if (!box) continue;
      addEdges(edges, box);
      addPlanes(planes, box, bounds, region);
      if (!widest || volume(box) > volume(widest)) widest = box;
    }
    if (!widest) return;
    if (planes.length > 0) {
      const material = new MeshBasicMaterial({
        color: colour,
        transparent: true,
        opacity: 0.055,
        side: DoubleSide,
        depthWrite: false,
      });
      this.keep(new Mesh(this.geometry(planes), material), material);
    }
    const line = new LineBasicMaterial({ color: colour, transparent: true, opacity: 0.5, depthWrite: false });
    this.keep(new LineSegments(this.geometry(edges), line), line);
    const label = makeLabel(name, colour, regionLetter(region.id));
    label.position.set((widest.min.x + widest.max.x) / 2, widest.max.y, (widest.min.z + widest.max.z) / 2);
    this.keep(label, label.material);
    this.labels.push(label);
    this.anchors.set(region.id, new Vector3(label.position.x, (widest.min.y + widest.max.y * 3) / 4, label.position.z));
    if (label.material.map) this.disposables.push(label.material.map);
  }

  private keep(object: Mesh | LineSegments | Sprite, material: { dispose(): void }): void {
    this.group.add(object);
    this.disposables.push(material);
  }

  private geometry(positions: number[]): BufferGeometry {
    const geometry = new BufferGeometry();
    geometry.setAttribute("position", new BufferAttribute(new Float32Array(positions), 3));
    this.disposables.push(geometry);
    return geometry;
  }
}

/** The extent with a margin, and large enough to show boundaries that lie not far outside it. */
function drawnLimits(regions: Region[], extent: Box3): Box3 {
  const size = extent.getSize(new Vector3());
  const span = Math.max(size.x, size.z);
  const limits = extent.clone();
  limits.expandByVector(new Vector3(span * MARGIN, 0, span * MARGIN));
  limits.min.y -= 0.05;
  limits.max.y += span * MARGIN;
  for (const region of regions) {
    for (const box of region.boxes) {
      AXES.forEach((axis, i) => {
        for (const bound of [box.min[i], box.max[i]]) {
          if (bound === null || bound < extent.min[axis] - span || bound > extent.max[axis] + span) continue;
          limits.min[axis] = Math.min(limits.min[axis], bound - span * MARGIN);
          limits.max[axis] = Math.max(limits.max[axis], bound + span * MARGIN);
        }
      });
    }
  }
  return limits;
}

function clipped(bounds: RegionBox, limits: Box3): Box3 | null {
  const box = limits.clone();
  AXES.forEach((axis, i) => {
    const low = bounds.min[i];
    const high = bounds.max[i];
    if (low !== null) box.min[axis] = Math.max(box.min[axis], low + INSET);
    if (high !== null) box.max[axis] = Math.min(box.max[axis], high - INSET);
  });
  return box.isEmpty() ? null : box;
}

function addEdges(out: number[], box: Box3): void {
  const { min, max } = box;
  const corner = (i: number): [number, number, number] => [
    i & 1 ? max.x : min.x,
    i & 2 ? max.y : min.y,
    i & 4 ? max.z : min.z,
  ];
  for (let i = 0; i < 8; i++) {
    for (const bit of [1, 2, 4]) if (!(i & bit)) out.push(...corner(i), ...corner(i | bit));
  }
}

/** A plane for each face that is a real boundary: not the end of the drawing, not a seam within the region. */
function addPlanes(out: number[], box: Box3, bounds: RegionBox, region: Region): void {
  const centre = box.getCenter(new Vector3());
  AXES.forEach((axis, i) => {
    for (const end of ["min", "max"] as const) {
      const bound = bounds[end][i];
      if (bound === null || Math.abs(box[end][axis] - bound) > INSET * 2) continue;
      const beyond = centre.clone();
      beyond[axis] = bound + (end === "min" ? -INSET : INSET);
      if (region.boxes.some((other) => other !== bounds && holds(other, beyond))) continue;
      const [u, v] = AXES.filter((other) => other !== axis);
      const at = (su: "min" | "max", sv: "min" | "max"): [number, number, number] => {
        const point = new Vector3();
        point[axis] = box[end][axis];
        point[u] = box[su][u];
        point[v] = box[sv][v];
        return [point.x, point.y, point.z];
      };
      out.push(...at("min", "min"), ...at("max", "min"), ...at("max", "max"));
      out.push(...at("min", "min"), ...at("max", "max"), ...at("min", "max"));
    }
  });
}

function holds(box: RegionBox, point: Vector3): boolean {
  return AXES.every((axis, i) => {
    const low = box.min[i];
    const high = box.max[i];
    return (low === null || point[axis] >= low) && (high === null || point[axis] < high);
  });
}

function volume(box: Box3): number {
  const size = box.getSize(new Vector3());
  return size.x * size.y * size.z;
}

function makeLabel(text: string, colour: string, letter: string): Sprite {
  const canvas = document.createElement("canvas");
  const paint = canvas.getContext("2d");
  const font = "600 30px system-ui, sans-serif";
  let length = 200;
  if (paint) {
    paint.font = font;
    length = Math.ceil(paint.measureText(text).width) + 78;
    canvas.width = length;
    canvas.height = 52;
    paint.font = font;
    paint.fillStyle = "rgba(13, 18, 24, 0.78)";
    paint.beginPath();
    paint.roundRect(1, 1, length - 2, 50, 25);
    paint.fill();
    paint.fillStyle = colour;
    paint.beginPath();
    paint.arc(28, 26, 17, 0, Math.PI * 2);
    paint.fill();
    paint.textBaseline = "middle";
    paint.textAlign = "center";
    paint.fillStyle = BACKGROUND;
    paint.font = `700 ${letter.length > 1 ? 17 : 24}px system-ui, sans-serif`;
    paint.fillText(letter, 28, 27);
    paint.textAlign = "left";
    paint.font = font;
    paint.fillStyle = "#e8edf2";
    paint.fillText(text, 54, 27);
  }
  const map = new CanvasTexture(canvas);
  map.colorSpace = SRGBColorSpace;
  const material = new SpriteMaterial({ map, transparent: true, sizeAttenuation: false, depthTest: false, fog: false });
  const sprite = new Sprite(material);
  sprite.scale.set((LABEL_HEIGHT * length) / 52, LABEL_HEIGHT, 1);
  sprite.renderOrder = 10;
  return sprite;
}

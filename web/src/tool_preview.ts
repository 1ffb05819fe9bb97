/** Shows what is being drawn before it is sent, and where a ray went. */

import {
  BoxGeometry,
  BufferAttribute,
  BufferGeometry,
  CylinderGeometry,
  EdgesGeometry,
  Group,
  Line,
  LineBasicMaterial,
  LineSegments,
  Mesh,
  MeshBasicMaterial,
  SphereGeometry,
} from "three";
import type { Spot, Static } from "./drawing";
import type { Vec3 } from "@nimbus/client";

/** How high the preview of a region is, metres. */
const REGION_HEIGHT = 12;
const STATIC_COLOUR = "#e4eaf0";
const RAY_COLOUR = "#f0a030";

export class ToolPreview {
  readonly group = new Group();
  private disposables: { dispose(): void }[] = [];

  /** A static as it would stand there. */
  showStatic({ shape, position }: Static): void {
    this.clear();
    const geometry =
      "ball" in shape
        ? new SphereGeometry(shape.ball.radius, 24, 16)
        : "cylinder" in shape
          ? new CylinderGeometry(shape.cylinder.radius, shape.cylinder.radius, 2 * shape.cylinder.half_height, 32)
          : "cuboid" in shape
            ? new BoxGeometry(...(shape.cuboid.half.map((half) => 2 * half) as Vec3))
            : null;
    if (geometry) this.addSolid(geometry, position, STATIC_COLOUR, 0.35);
  }

  /** A rectangle as it would belong to a region. */
  showRegion({ min, max }: { min: Spot; max: Spot }, height: number, colour: string): void {
    this.clear();
    const [wide, deep] = [max[0] - min[0], max[1] - min[1]];
    if (wide <= 0 || deep <= 0) return;
    const middle: Vec3 = [(min[0] + max[0]) / 2, height + REGION_HEIGHT / 2, (min[1] + max[1]) / 2];
    this.addSolid(new BoxGeometry(wide, REGION_HEIGHT, deep), middle, colour, 0.18);
  }

  /** A ray, and a mark where it met something. */
  showRay(from: Vec3, to: Vec3, met: boolean): void {
    this.clear();
    const geometry = new BufferGeometry();
    geometry.setAttribute("position", new BufferAttribute(new Float32Array([...from, ...to]), 3));
    const material = new LineBasicMaterial({ color: RAY_COLOUR, depthTest: false, transparent: true });
    this.group.add(new Line(geometry, material));
    this.disposables.push(geometry, material);
    if (met) this.addSolid(new SphereGeometry(0.12, 16, 12), to, RAY_COLOUR, 0.9);
  }

  clear(): void {
    this.group.clear();
    for (const thing of this.disposables) thing.dispose();
    this.disposables = [];
  }

  private addSolid(geometry: BufferGeometry, position: Vec3, colour: string, opacity: number): void {
    const fill = new MeshBasicMaterial({ color: colour, transparent: true, opacity, depthWrite: false });
    const line = new LineBasicMaterial({ color: colour, transparent: true, opacity: 0.9 });
    const edges = new EdgesGeometry(geometry, 30);
    for (const object of [new Mesh(geometry, fill), new LineSegments(edges, line)]) {
      object.position.set(...position);
      this.group.add(object);
    }
    this.disposables.push(geometry, fill, line, edges);
  }
}

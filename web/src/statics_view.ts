/** Draws what never moves: ground with a metre grid, walls, terrain. Rebuilt whole when any of it comes or goes. */

import { Box3, Color, Group, Matrix4, MeshLambertMaterial, Quaternion, Vector3 } from "three";
import { width } from "./extent";
import { InstanceBatch } from "./instances";
import type { StaticBody } from "@nimbus/client";
import { buildForm, formOf } from "./shape_geometry";

/** A static wider than the first is ground, wider than the second a floor; the wider the darker, metres. */
const GROUND_WIDTH = 300;
const FLOOR_WIDTH = 60;
const GROUND = new Color("#1b242e");
const FLOOR = new Color("#2d3945");
const FURNITURE = new Color("#46535f");

export class StaticsView {
  readonly group = new Group();
  /** The boxes of the statics, in the order in which they came. */
  bounds: Box3[] = [];
  private readonly material = griddedMaterial();
  private batches = new Map<string, InstanceBatch>();
  private statics: StaticBody[] = [];

  /** How many there are. */
  get count(): number {
    return this.statics.length;
  }

  /** The static of this id, if it is one. */
  find(nid: string): StaticBody | undefined {
    return this.statics.find((known) => known.nid === nid);
  }

  /** Some came and some went. */
  change(added: StaticBody[], removed: string[]): void {
    const gone = new Set(removed);
    const stay = this.statics.filter((known) => known.nid === undefined || !gone.has(known.nid));
    this.load([...stay, ...added]);
  }

  load(statics: StaticBody[]): void {
    this.statics = statics;
    for (const batch of this.batches.values()) batch.dispose();
    this.batches = new Map();
    this.bounds = [];
    for (const body of statics) {
      try {
        this.add(body);
      } catch (error) {
        console.error("a static body could not be drawn", error);
      }
    }
    for (const batch of this.batches.values()) {
      batch.matricesChanged();
      batch.coloursChanged();
    }
  }

  private add(body: StaticBody): void {
    const form = formOf(body.shape);
    const place = new Matrix4().compose(
      new Vector3(...body.position),
      new Quaternion(...body.rotation).normalize(),
      new Vector3(...form.scale),
    );
    let batch = this.batches.get(form.key);
    if (!batch) {
      batch = new InstanceBatch(this.group, buildForm(form), this.material, { cast: true, receive: true });
      this.batches.set(form.key, batch);
    }
    const box = (batch.mesh.geometry.boundingBox ?? new Box3()).clone().applyMatrix4(place);
    const index = batch.add(this.bounds.length);
    batch.matrix.set(place.elements, index * 16);
    batch.colour.set(colourFor(width(box)).toArray(), index * 3);
    this.bounds.push(box);
  }
}

function colourFor(metres: number): Color {
  if (metres > GROUND_WIDTH) return GROUND;
  return metres > FLOOR_WIDTH ? FLOOR : FURNITURE;
}

/** Lambert, with thin lines every metre and stronger ones every ten on whatever faces up. */
function griddedMaterial(): MeshLambertMaterial {
  const material = new MeshLambertMaterial({ vertexColors: true });
  material.onBeforeCompile = (shader) => {
    shader.vertexShader = shader.vertexShader
      .replace("#include <common>", "#include <common>\nvarying vec3 gridPlace;\nvarying float gridUp;")
      .replace(
        "#include <project_vertex>",
        `#include <project_vertex>
        vec4 gridWorld = vec4(transformed, 1.0);
        vec3 gridNormal = objectNormal;
        #ifdef USE_INSTANCING
          gridWorld = instanceMatrix * gridWorld;
          gridNormal = mat3(instanceMatrix) * gridNormal;
        #endif
        gridPlace = (modelMatrix * gridWorld).xyz;
        gridUp = normalize(gridNormal).y;`,
      );
    shader.fragmentShader = shader.fragmentShader
      .replace(
        "#include <common>",
        `#include <common>
        varying vec3 gridPlace;
        varying float gridUp;
        float gridLine(vec2 place) {
          vec2 blur = fwidth(place);
          vec2 away = abs(fract(place - 0.5) - 0.5) / max(blur, 1e-6);
          float line = 1.0 - min(min(away.x, away.y), 1.0);
          return line * (1.0 - smoothstep(0.15, 0.5, max(blur.x, blur.y)));
        }`,
      )
      .replace(
        "#include <color_fragment>",
        `#include <color_fragment>
        if (gridUp > 0.6) {
          float lines = max(gridLine(gridPlace.xz) * 0.05, gridLine(gridPlace.xz * 0.1) * 0.13);
          diffuseColor.rgb += lines * vec3(0.32, 0.42, 0.52);
        }`,
      );
  };
  return material;
}

/**
 * Many bodies of one geometry in one draw call.
 *
 * Instances are kept dense: a removed one is replaced by the last, so nothing invisible is ever drawn. Room grows by
 * doubling.
 */

import {
  type BufferGeometry,
  DynamicDrawUsage,
  InstancedBufferAttribute,
  InstancedMesh,
  type Material,
  type Object3D,
} from "three";

const FIRST_CAPACITY = 16;

export class InstanceBatch {
  mesh: InstancedMesh;
  count = 0;
  /** Column-major matrices, 16 floats each. */
  matrix: Float32Array;
  /** Linear light, 3 floats each. */
  colour: Float32Array;
  /** Which slot each instance shows. */
  slots: Uint32Array;

  constructor(
    private readonly parent: Object3D,
    private readonly geometry: BufferGeometry,
    private readonly material: Material,
    private readonly shadows: { cast: boolean; receive: boolean },
    capacity = FIRST_CAPACITY,
  ) {
    this.slots = new Uint32Array(capacity);
    this.matrix = new Float32Array(capacity * 16);
    this.colour = new Float32Array(capacity * 3);
    this.mesh = this.makeMesh();
  }

  /** Adds an instance for a slot and returns its index. Its matrix and colour are for the caller to write. */
  add(slot: number): number {
    if (this.count === this.slots.length) this.grow();
    const index = this.count++;
    this.slots[index] = slot;
    this.mesh.count = this.count;
    return index;
  }

  /** Removes an instance; returns the slot that now lives at `index`, or -1 when none had to move. */
  remove(index: number): number {
    const last = --this.count;
    this.mesh.count = this.count;
    if (index === last) return -1;
    this.matrix.copyWithin(index * 16, last * 16, last * 16 + 16);
    this.colour.copyWithin(index * 3, last * 3, last * 3 + 3);
    this.slots[index] = this.slots[last];
    this.matricesChanged();
    this.coloursChanged();
    return this.slots[index];
  }

  matricesChanged(): void {
    this.mesh.instanceMatrix.needsUpdate = true;
  }

  coloursChanged(): void {
    const attribute = this.mesh.instanceColor;
    if (attribute) attribute.needsUpdate = true;
  }

  /** Takes the batch out of the scene and frees what it holds on the graphics card. */
  dispose(): void {
    this.parent.remove(this.mesh);
    this.mesh.dispose();
    this.geometry.dispose();
  }

  private grow(): void {
    const capacity = this.slots.length * 2;
    const slots = new Uint32Array(capacity);
    const matrix = new Float32Array(capacity * 16);
    const colour = new Float32Array(capacity * 3);
    slots.set(this.slots);
    matrix.set(this.matrix);
    colour.set(this.colour);
    this.slots = slots;
    this.matrix = matrix;
    this.colour = colour;
    this.parent.remove(this.mesh);
    this.mesh.dispose();
    this.mesh = this.makeMesh();
  }

  private makeMesh(): InstancedMesh {
    const mesh = new InstancedMesh(this.geometry, this.material, 0);
    mesh.instanceMatrix = new InstancedBufferAttribute(this.matrix, 16);
    mesh.instanceMatrix.setUsage(DynamicDrawUsage);
    mesh.instanceColor = new InstancedBufferAttribute(this.colour, 3);
    mesh.count = this.count;
    mesh.castShadow = this.shadows.cast;
    mesh.receiveShadow = this.shadows.receive;
    // Bodies move all the time; a bounding sphere would be stale or cost as much as it saves.
    mesh.frustumCulled = false;
    this.parent.add(mesh);
    return mesh;
  }
}

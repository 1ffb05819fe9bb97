/**
 * Many translucent shells around bodies in one draw call. A shell is clear in the middle and bright at its rim, so that
 * one sees both the body inside and where it ends.
 */

import {
  type Blending,
  DynamicDrawUsage,
  IcosahedronGeometry,
  InstancedBufferAttribute,
  InstancedBufferGeometry,
  Mesh,
  NormalBlending,
  ShaderMaterial,
} from "three";

const FIRST_CAPACITY = 64;

export interface ShellStyle {
  /** Opacity in the middle and at the rim, 0 to 1. */
  middle: number;
  rim: number;
  /** The greater, the thinner the rim. */
  sharpness: number;
  blending?: Blending;
}

export class Shells {
  readonly mesh: Mesh;
  count = 0;
  /** x y z and radius of each shell. */
  private sphere = new Float32Array(FIRST_CAPACITY * 4);
  /** Linear light, and strength. */
  private tint = new Float32Array(FIRST_CAPACITY * 4);
  private readonly geometry = new InstancedBufferGeometry();

  constructor(style: ShellStyle) {
    const ball = new IcosahedronGeometry(1, 4);
    this.geometry.setAttribute("position", ball.getAttribute("position"));
    this.attach();
    this.mesh = new Mesh(this.geometry, materialOf(style));
    // Shells move with their bodies; a bounding sphere would be stale.
    this.mesh.frustumCulled = false;
    this.mesh.renderOrder = 5;
    this.mesh.visible = false;
  }

  /** Starts a new picture. */
  begin(): void {
    this.count = 0;
  }

  /** Adds a shell to the picture. */
  add(x: number, y: number, z: number, radius: number, colour: readonly number[], strength: number): void {
    if (this.count * 4 === this.sphere.length) this.grow();
    const at = this.count++ * 4;
    this.sphere[at] = x;
    this.sphere[at + 1] = y;
    this.sphere[at + 2] = z;
    this.sphere[at + 3] = radius;
    this.tint[at] = colour[0];
    this.tint[at + 1] = colour[1];
    this.tint[at + 2] = colour[2];
    this.tint[at + 3] = strength;
  }

  /** Ends the picture. */
  end(): void {
    this.geometry.instanceCount = this.count;
    this.mesh.visible = this.count > 0;
    for (const name of ["sphere", "tint"]) {
      const attribute = this.geometry.getAttribute(name) as InstancedBufferAttribute;
      attribute.clearUpdateRanges();
      attribute.addUpdateRange(0, this.count * 4);
      attribute.needsUpdate = true;
    }
  }

  private grow(): void {
    const sphere = new Float32Array(this.sphere.length * 2);
    const tint = new Float32Array(this.tint.length * 2);
    sphere.set(this.sphere);
    tint.set(this.tint);
    this.sphere = sphere;
    this.tint = tint;
    // Buffers on the graphics card have a fixed size; these are made anew with the next picture.
    this.geometry.dispose();
    this.attach();
  }

  private attach(): void {
    for (const [name, array] of [["sphere", this.sphere], ["tint", this.tint]] as const) {
      const attribute = new InstancedBufferAttribute(array, 4);
      attribute.setUsage(DynamicDrawUsage);
      this.geometry.setAttribute(name, attribute);
    }
  }
}

function materialOf(style: ShellStyle): ShaderMaterial {
  return new ShaderMaterial({
    transparent: true,
    depthWrite: false,
    blending: style.blending ?? NormalBlending,
    uniforms: {
      middle: { value: style.middle },
      rim: { value: style.rim },
      sharpness: { value: style.sharpness },
    },
    vertexShader: `
      attribute vec4 sphere;
      attribute vec4 tint;
      varying vec4 shade;
      varying vec3 outward;
      varying vec3 toEye;
      void main() {
        vec4 place = modelViewMatrix * vec4(sphere.xyz + position * sphere.w, 1.0);
        outward = normalMatrix * position;
        toEye = -place.xyz;
        shade = tint;
        gl_Position = projectionMatrix * place;
      }`,
    fragmentShader: `
      uniform float middle;
      uniform float rim;
      uniform float sharpness;
      varying vec4 shade;
      varying vec3 outward;
      varying vec3 toEye;
      void main() {
        float facing = clamp(dot(normalize(outward), normalize(toEye)), 0.0, 1.0);
        float edge = pow(1.0 - facing, sharpness);
        gl_FragColor = vec4(shade.rgb, mix(middle, rim, edge) * shade.a);
        #include <colorspace_fragment>
      }`,
  });
}

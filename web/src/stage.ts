/**
 * The picture around the bodies: renderer, sky, fog, light and shadow, and how much of it the machine can afford.
 *
 * Quality goes down by itself when frames take too long: first shadows, then resolution. Where
 * no graphics card helps it starts low. `quality=high` or `quality=low` in the address pins it.
 */

import {
  BackSide,
  type Box3,
  Color,
  DirectionalLight,
  Fog,
  HemisphereLight,
  Mesh,
  type Object3D,
  PCFShadowMap,
  Scene,
  ShaderMaterial,
  SphereGeometry,
  Vector3,
  WebGLRenderer,
} from "three";
import type { CameraRig } from "./camera";
import { BACKGROUND } from "./palette";

export type Quality = "auto" | "high" | "low";

/** Below this many frames a second for `PATIENCE_MS` the picture gets simpler. */
const FPS_LOW = 26;
const PATIENCE_MS = 2500;

export class Stage {
  readonly scene = new Scene();
  private readonly renderer: WebGLRenderer;
  private readonly sun = new DirectionalLight("#fff4e2", 2.1);
  private readonly sky: Mesh;
  private slowSince = -1;
  /** 2: shadows and full resolution, 1: no shadows, 0: also one pixel per CSS pixel. */
  private level = 2;

  /** Throws when the browser cannot draw; the page then goes on without a picture. */
  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly rig: CameraRig,
    private readonly quality: Quality,
  ) {
    const cheap = quality === "low" || (quality === "auto" && drawsInSoftware());
    this.renderer = new WebGLRenderer({ canvas, antialias: !cheap, powerPreference: "high-performance" });
    this.renderer.shadowMap.type = PCFShadowMap;
    this.scene.background = new Color(BACKGROUND);
    this.scene.fog = new Fog(BACKGROUND, 80, 400);
    this.scene.add(new HemisphereLight("#b9d4ee", "#2a2f38", 1.25));
    this.sun.shadow.mapSize.set(2048, 2048);
    this.sun.shadow.radius = 3;
    this.sun.shadow.bias = -0.0006;
    this.sun.shadow.normalBias = 0.03;
    this.scene.add(this.sun, this.sun.target);
    this.sky = makeSky();
    this.scene.add(this.sky);
    this.setLevel(cheap ? 0 : 2);
    new ResizeObserver(() => this.resize()).observe(canvas);
    this.resize();
  }

  add(...objects: Object3D[]): void {
    this.scene.add(...objects);
  }

  /** Fits the fog to the extent of the world and the distance of the eye, light and shadow to what is looked at. */
  fit(extent: Box3, focus: Box3): void {
    const radiusOf = (box: Box3): number => Math.max(6, box.getSize(new Vector3()).length() / 2);
    if (this.scene.fog instanceof Fog) {
      // What is framed is never in the fog, however narrow the window and thus distant the camera.
      const near = Math.max(radiusOf(extent) * 3.2, this.rig.distance + radiusOf(focus));
      this.scene.fog.near = near;
      this.scene.fog.far = near * 3.4 + 60;
    }
    const centre = focus.getCenter(new Vector3());
    const radius = radiusOf(focus);
    this.sun.target.position.copy(centre);
    this.sun.position.copy(centre).addScaledVector(new Vector3(0.42, 0.85, 0.32).normalize(), radius * 2.5);
    const shadow = this.sun.shadow.camera;
    shadow.left = shadow.bottom = -radius * 1.15;
    shadow.right = shadow.top = radius * 1.15;
    shadow.near = radius * 0.5;
    shadow.far = radius * 5;
    shadow.updateProjectionMatrix();
  }

  draw(): void {
    this.sky.position.copy(this.rig.camera.position);
    this.renderer.render(this.scene, this.rig.camera);
  }

  /** Called once a frame with the measured frame rate. */
  adapt(fps: number, now: number): void {
    if (this.quality !== "auto" || this.level === 0) return;
    if (fps >= FPS_LOW || document.hidden) this.slowSince = -1;
    else if (this.slowSince < 0) this.slowSince = now;
    else if (now - this.slowSince > PATIENCE_MS) {
      this.slowSince = -1;
      this.setLevel(this.level - 1);
    }
  }

  private setLevel(level: number): void {
    this.level = level;
    // Blurring what lies behind the panels costs more than the panels themselves.
    document.body.classList.toggle("plain", level === 0);
    this.sun.castShadow = level >= 2;
    this.renderer.shadowMap.enabled = level >= 2;
    this.renderer.setPixelRatio(level >= 1 ? Math.min(window.devicePixelRatio, 2) : 1);
    this.resize();
  }

  private resize(): void {
    const { clientWidth, clientHeight } = this.canvas;
    if (clientWidth === 0 || clientHeight === 0) return;
    this.renderer.setSize(clientWidth, clientHeight, false);
    this.rig.resize({ width: clientWidth, height: clientHeight });
  }
}

/** True where no graphics card helps; shadows and smooth edges are then out of the question. */
function drawsInSoftware(): boolean {
  const probe = document.createElement("canvas").getContext("webgl2");
  if (!probe) return true;
  const info = probe.getExtension("WEBGL_debug_renderer_info");
  const name = String(probe.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : probe.RENDERER));
  probe.getExtension("WEBGL_lose_context")?.loseContext();
  return /swiftshader|llvmpipe|software|basic render/i.test(name);
}

/** A dome that is the fog's colour at the horizon and a little bluer above, so that the world has no visible end. */
function makeSky(): Mesh {
  const material = new ShaderMaterial({
    side: BackSide,
    depthWrite: false,
    depthTest: false,
    fog: false,
    uniforms: { horizon: { value: new Color(BACKGROUND) }, zenith: { value: new Color("#24384f") } },
    vertexShader: `
      varying vec3 toward;
      void main() {
        toward = position;
        gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0);
      }`,
    fragmentShader: `
      uniform vec3 horizon;
      uniform vec3 zenith;
      varying vec3 toward;
      void main() {
        float height = max(normalize(toward).y, 0.0);
        gl_FragColor = vec4(mix(horizon, zenith, pow(height, 0.7)), 1.0);
        #include <colorspace_fragment>
      }`,
  });
  const sky = new Mesh(new SphereGeometry(50, 24, 12), material);
  sky.renderOrder = -10;
  sky.frustumCulled = false;
  return sky;
}

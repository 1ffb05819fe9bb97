/** Sweep: a world seen from above. A click pushes the body beside it; one that was pushed into the ring is swept away. */

import { Connection, type Placed, type Shape } from "@nimbus/client";

/** The ring, metres. */
const GOAL = { x: 0, z: 0, radius: 4 };
/** How far from a click a body may be, metres, and how fast it is pushed, m/s. */
const REACH = 4;
const PUSH_SPEED = 6;
const COLOURS = ["#ffb454", "#59c2ff", "#aad94c", "#f07178", "#d2a6ff", "#95e6cb", "#e6b450", "#b3b1ad"];

const canvas = document.querySelector("canvas") as HTMLCanvasElement;
const pen = canvas.getContext("2d") as CanvasRenderingContext2D;
const say = (id: string, words: string): void => void ((document.getElementById(id) as HTMLElement).textContent = words);
const tell = (problem: Error): void => say("words", problem.message);

const address = new URL("ws", location.href);
address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
const connection = await Connection.connect(address.href);
const pushed = new Set<string>();
let score = 0;
let bodies: Placed[] = [];
/** Pixels a metre, and the place in the middle of the picture. */
const view = { scale: 10, x: 0, z: 0 };

/** Half the width of a form seen from above, roughly, metres. */
function radiusOf(shape: Shape | undefined): number {
  if (!shape) return 0.5;
  if ("ball" in shape) return shape.ball.radius;
  if ("cuboid" in shape) return Math.max(shape.cuboid.half[0], shape.cuboid.half[2]);
  if ("capsule" in shape) return shape.capsule.radius;
  if ("cylinder" in shape) return shape.cylinder.radius;
  return 0.5;
}

function frame(): void {
  requestAnimationFrame(frame);
  bodies = [...connection.posesAt(connection.now())];
  canvas.width = canvas.clientWidth;
  canvas.height = canvas.clientHeight;
  look();
  pen.setTransform(view.scale, 0, 0, view.scale, canvas.width / 2 - view.x * view.scale, canvas.height / 2 - view.z * view.scale);
  pen.lineWidth = 2 / view.scale;
  pen.strokeStyle = "#fff";
  pen.beginPath();
  pen.arc(GOAL.x, GOAL.z, GOAL.radius, 0, 2 * Math.PI);
  pen.stroke();
  for (const { nid, region, shape, position } of bodies) {
    pen.fillStyle = COLOURS[region % COLOURS.length];
    pen.beginPath();
    pen.arc(position[0], position[2], Math.max(radiusOf(connection.session.shapes.get(shape)), 2 / view.scale), 0, 2 * Math.PI);
    pen.fill();
    if (pushed.has(nid)) pen.stroke();
  }
  for (const { nid, position } of bodies) if (pushed.has(nid) && isInGoal(position)) sweep(nid).catch(tell);
  if (!connection.isLive) say("words", "The gateway is gone, looking for another …");
}

/** Shows where most bodies are, without haste. */
function look(): void {
  if (bodies.length === 0) return;
  const middle = (axis: number): number => bodies.map(({ position }) => position[axis]).sort((a, b) => a - b)[bodies.length >> 1];
  const reach = bodies.map(({ position }) => Math.hypot(position[0] - view.x, position[2] - view.z)).sort((a, b) => a - b);
  const wanted = Math.min(canvas.width, canvas.height) / (2 * Math.max(8, reach[Math.floor(reach.length * 0.9)] + 2));
  view.x += (middle(0) - view.x) * 0.02;
  view.z += (middle(2) - view.z) * 0.02;
  view.scale += (wanted - view.scale) * 0.05;
}

function isInGoal([x, , z]: number[]): boolean {
  return Math.hypot(x - GOAL.x, z - GOAL.z) < GOAL.radius;
}

async function sweep(nid: string): Promise<void> {
  pushed.delete(nid);
  await connection.despawn(nid);
  say("score", String(++score));
}

/** Pushes the body nearest to a place away from it. */
async function push(x: number, z: number): Promise<void> {
  const away = ({ position }: Placed): number => Math.hypot(position[0] - x, position[2] - z);
  const near = bodies.filter((body) => away(body) < REACH && !body.isKinematic).sort((a, b) => away(a) - away(b))[0];
  if (!near) return say("words", "Nothing near enough to push.");
  const card = await connection.inspect(near.nid);
  const mass = card.desc.density * 4 * radiusOf(card.desc.shape) ** 3;
  const strength = (mass * PUSH_SPEED) / Math.max(0.1, away(near));
  await connection.impulse(near.nid, [(near.position[0] - x) * strength, mass, (near.position[2] - z) * strength]);
  pushed.add(near.nid);
  say("words", `Pushed ${near.nid} of server ${near.region}.`);
}

canvas.onclick = (event) => {
  const x = (event.offsetX - canvas.width / 2) / view.scale + view.x;
  const z = (event.offsetY - canvas.height / 2) / view.scale + view.z;
  push(x, z).catch(tell);
};

Object.assign(window, { game: { connection, view, bodies: () => bodies, pushed: () => [...pushed], score: () => score } });
say("words", `You are in the world “${connection.session.world}”.`);
requestAnimationFrame(frame);

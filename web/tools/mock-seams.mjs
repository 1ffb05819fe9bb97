/** Stand-ins for what real servers tell of their seams: auras near a boundary, clusters of them, breaches of speed. */

/** Bodies this near to a boundary have an aura, metres. */
const SEAM = 2.2;
/** Faster than this near a boundary is a breach, m/s. */
export const SPEED_LIMIT = 14;
/** Clusters are only sought among this many bodies: the search is a plain one. */
const CLUSTERED_MAX = 500;
const BREACHES_MAX = 20;
/** A breach is told for this long, ticks. */
const BREACH_TICKS = 600;

const near = ({ position: [x, , z] }) => Math.abs(x) < SEAM || Math.abs(z) < SEAM;
const speed = (body) => (body.ring ? body.ring.radius * 0.8 : Math.hypot(...body.velocity));

/** Bodies near a boundary with the reach of their auras. */
export function aurasOf(bodies) {
  return [...bodies].filter(near).slice(0, 2048).map((body) => ({ body, reach: 0.25 + speed(body) * 0.08 }));
}

/** Bodies of one owner whose auras overlap, two or more at a time. */
export function clustersOf(auras) {
  const list = auras.slice(0, CLUSTERED_MAX);
  const root = list.map((_, i) => i);
  const find = (i) => (root[i] === i ? i : (root[i] = find(root[i])));
  for (let i = 0; i < list.length; i++) {
    for (let k = 0; k < i; k++) {
      const [a, b] = [list[i], list[k]];
      const gap = Math.hypot(...a.body.position.map((c, n) => c - b.body.position[n]));
      if (a.body.region === b.body.region && gap < a.reach + b.reach + 0.8) root[find(i)] = find(k);
    }
  }
  const clusters = new Map();
  list.forEach((aura, i) => clusters.set(find(i), [...(clusters.get(find(i)) ?? []), aura.body]));
  return [...clusters.values()].filter((members) => members.length > 1);
}

/** Remembers breaches for a while. */
export class Breaches {
  recent = [];
  total = 0;
  byRegion = new Map();

  /** Adds a breach, unless the same one is there. */
  add(breach) {
    const same = (other) => other.factor === breach.factor && other.region === breach.region && other.bodies[0] === breach.bodies[0];
    if (this.recent.some(same)) return;
    this.recent = [...this.recent, breach].slice(-BREACHES_MAX);
    this.total++;
    this.byRegion.set(breach.region, (this.byRegion.get(breach.region) ?? 0) + 1);
  }

  /** Looks for bodies that are too fast near a boundary, and forgets what is long over. */
  watch(bodies, tick, nidOf) {
    this.recent = this.recent.filter((breach) => tick - breach.tick < BREACH_TICKS);
    for (const body of bodies) {
      if (body.ring || !near(body) || speed(body) <= SPEED_LIMIT) continue;
      this.add({ tick, region: body.region, factor: "speed", value: speed(body), limit: SPEED_LIMIT, bodies: [nidOf(body)] });
    }
  }
}

/** A message of two words a record, the second a whole number or a float. */
export function encodePairs(kind, pairs, floats = false) {
  const buffer = new ArrayBuffer(8 + pairs.length * 8);
  const words = new Uint32Array(buffer);
  const reals = new Float32Array(buffer);
  words.set([kind, pairs.length]);
  pairs.forEach(([slot, value], i) => {
    words[2 + i * 2] = slot;
    if (floats) reals[3 + i * 2] = value;
    else words[3 + i * 2] = value;
  });
  return buffer;
}

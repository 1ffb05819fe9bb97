import { describe, expect, test } from "vitest";
import type { NodeStats } from "@nimbus/client";
import { ServerLives } from "../src/server_life";

function node(more: Partial<NodeStats>): NodeStats {
  const figures = { bodies: 1, awake: 1, step_ms_p50: 1, step_ms_p99: 1, migrations: 0, auras: 0, ghosts: 0, breaches: 0, late_ticks: 0 };
  return { id: 0, region: 0, alive: true, epoch: 1, killable: false, ...figures, ...more };
}

describe("the life of a server", () => {
  test("where servers cannot be killed there is no button", () => {
    const lives = new ServerLives();
    lives.see({ nodes: [node({}), node({ id: 1, killable: undefined })] });
    expect(lives.of(node({}))).toEqual({ word: "", dead: false, kill: "absent" });
  });

  test("it dies, and is back in its next epoch", () => {
    const lives = new ServerLives();
    lives.see({ nodes: [node({ killable: true }), node({ id: 1 })] });
    expect(lives.of(node({ killable: true })).kill).toBe("on");
    expect(lives.of(node({ id: 1 })).kill).toBe("off");
    lives.see({ nodes: [node({ alive: false })] });
    expect(lives.of(node({ alive: false }))).toEqual({ word: "dead", dead: true, kill: "off" });
    expect(lives.of(node({ epoch: 2 }))).toEqual({ word: "epoch 2", dead: false, kill: "off" });
    expect(lives.of(node({ epoch: 2, killable: true })).kill).toBe("on");
  });
});

import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { sdkAlias } from "./tools/sdk_alias.mjs";

/** The client package has no packages of its own; its tests run here, with the tools of the viewer. */
const sdk = fileURLToPath(new URL("../sdk/typescript", import.meta.url));
const here = (name: string): string => fileURLToPath(new URL(`node_modules/${name}`, import.meta.url));

export default defineConfig({
  resolve: { alias: { ...sdkAlias, vitest: here("vitest"), ws: here("ws/wrapper.mjs") } },
  server: { fs: { allow: [".", sdk] } },
  test: { include: ["test/**/*.test.ts", `${sdk}/test/**/*.test.ts`], environment: "node" },
});

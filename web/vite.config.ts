import { defineConfig } from "vite";
import { sdkAlias } from "./tools/sdk_alias.mjs";

/** Where `vite dev` finds a gateway; the mock listens there too. */
const gateway = process.env.NIMBUS_URL ?? "http://127.0.0.1:8090";

export default defineConfig({
  // Relative paths, so that the files work from a binary, a folder or behind a prefix.
  base: "./",
  resolve: { alias: sdkAlias },
  build: {
    target: "es2022",
    outDir: "dist",
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 900,
  },
  server: {
    proxy: {
      "/ws": { target: gateway, ws: true },
      "/api": { target: gateway },
    },
  },
});

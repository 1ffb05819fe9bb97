import { sdkAlias } from "../../web/tools/sdk_alias.mjs";

/** The gateway to play at. Browsers may only connect to where their page is from, so its socket is passed on. */
const proxy = { "/ws": { target: process.env.NIMBUS_URL ?? "http://127.0.0.1:7777", ws: true } };

export default {
  base: "./",
  resolve: { alias: sdkAlias },
  build: { target: "es2022", outDir: "dist", emptyOutDir: true },
  server: { proxy, fs: { allow: ["../.."] } },
  preview: { proxy },
};

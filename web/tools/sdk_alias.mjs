/** Where the viewer, its tests and its benchmark find the client package: its sources, so that nothing has to be built first. */

import { fileURLToPath } from "node:url";

export const sdkAlias = { "@nimbus/client": fileURLToPath(new URL("../../sdk/typescript/src/index.ts", import.meta.url)) };

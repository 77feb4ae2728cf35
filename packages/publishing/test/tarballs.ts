/** What was packed. Where nothing could be, whoever imports this fails with the reason, and looks at no build of yesterday. */
import { inject } from "vitest"

const packed = inject("packed")
if ("failure" in packed) throw new Error(`The packages could not be built and packed: ${packed.failure}`)

/** By the name of the package. */
export const tarballs = packed.tarballs

/** `npm run api`: writes the public API of every package, as built, to where its review finds it. */
import * as fs from "node:fs"
import { apiReport, reportFile } from "./apiReport.js"
import { published } from "./packages.js"

for (const pkg of published) fs.writeFileSync(reportFile(pkg), await apiReport(pkg))

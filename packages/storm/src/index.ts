/**
 * A catalogue of retry storms, and the reports on them.
 *
 * @since 0.1.0
 */
export * as BreakerStorms from "./BreakerStorms.js"
export * as Catalogue from "./Catalogue.js"
export * as CataloguePage from "./CataloguePage.js"
export * as ChartText from "./ChartText.js"
export * as Charts from "./Charts.js"
export * as ClosedForms from "./ClosedForms.js"
export * as Comparison from "./Comparison.js"
export * as CongestiveCollapse from "./CongestiveCollapse.js"
export * as Contention from "./Contention.js"
export * as Decisions from "./Decisions.js"
export * as HtmlReport from "./HtmlReport.js"
export * as Metastable from "./Metastable.js"
export * as OpenAndClosed from "./OpenAndClosed.js"
export * as OwnStorm from "./OwnStorm.js"
export * as Part from "./Part.js"
export * as SixClients from "./SixClients.js"
export * as Source from "./Source.js"
export * as Storm from "./Storm.js"
export * as StormFile from "./StormFile.js"
export * as Sweep from "./Sweep.js"
export * as TextReport from "./TextReport.js"
export * as TokenBuckets from "./TokenBuckets.js"
export * as TraceText from "./TraceText.js"
export * as Workers from "./Workers.js"

/**
 * A catalogue of retry storms, and the reports on them.
 *
 * @since 0.1.0
 */
export * as BreakerStorms from "./BreakerStorms.js"
export * as Catalogue from "./Catalogue.js"
export * as ChartText from "./ChartText.js"
export * as Charts from "./Charts.js"
export * as ClosedForms from "./ClosedForms.js"
export * as Decisions from "./Decisions.js"
export * as HtmlReport from "./HtmlReport.js"
export * as Metastable from "./Metastable.js"
export * as SixClients from "./SixClients.js"
export * as Storm from "./Storm.js"
export * as TextReport from "./TextReport.js"
export * as TokenBuckets from "./TokenBuckets.js"

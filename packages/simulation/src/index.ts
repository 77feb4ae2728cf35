/**
 * Runs Effect programs through an outage under virtual time. The simulator knows no policy: it runs any Effect.
 *
 * @since 0.1.0
 */
export * as Clients from "./Clients.js"
export * as Distribution from "./Distribution.js"
export * as Fault from "./Fault.js"
export * as Latency from "./Latency.js"
export * as Recovery from "./Recovery.js"
export * as Scenario from "./Scenario.js"
export * as SeededRandom from "./SeededRandom.js"
export * as Service from "./Service.js"
export * as Simulation from "./Simulation.js"
export * as Summary from "./Summary.js"
export * as TestTime from "./TestTime.js"
export * as Trace from "./Trace.js"
export * as VirtualTime from "./VirtualTime.js"

#!/usr/bin/env node
/** The command `breakwater`; what it does is in `command`. */
import { NodeContext, NodeRuntime } from "@effect/platform-node"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { breakwater, exitCode } from "./command/breakwater.js"

breakwater(process.argv).pipe(
  Effect.provide(NodeContext.layer),
  NodeRuntime.runMain({
    disableErrorReporting: true,
    teardown: (exit, onExit) => onExit(Exit.isSuccess(exit) ? 0 : exitCode(exit.cause))
  })
)

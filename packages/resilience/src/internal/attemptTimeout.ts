import * as Duration from "effect/Duration"
import * as Predicate from "effect/Predicate"
import { type AttemptTimeout, AttemptTimedOut } from "../AttemptTimeout.js"
import { stackless } from "./stackless.js"

export const TypeId = "~@breakwater/resilience/AttemptTimeout"

export const isAttemptTimeout = (input: unknown): input is AttemptTimeout => Predicate.hasProperty(input, TypeId)

export const timedOut = (millis: number): AttemptTimedOut =>
  stackless(() => new AttemptTimedOut({ limit: Duration.millis(millis) }))

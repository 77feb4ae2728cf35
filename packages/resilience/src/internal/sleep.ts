import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

/** What a timer of the platform can wait for: 2^31 - 1 ms, 24.8 days. The live clock never wakes from more. */
const longest = 2 ** 31 - 1

/** Sleeps any finite number of milliseconds, in pieces where one timer is too short for it; zero ends the turn. */
export const sleep = (millis: number): Effect.Effect<void> =>
  millis <= longest
    ? piece(millis)
    : Effect.zipRight(
        piece(longest),
        Effect.suspend(() => sleep(millis - longest))
      )

const piece = (millis: number): Effect.Effect<void> => Clock.sleep(Duration.millis(millis))

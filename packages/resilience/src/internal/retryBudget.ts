import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type { Kind, Ledger, Outcome, Permit, RetryBudget } from "../RetryBudget.js"
import * as RetryMetrics from "../RetryMetrics.js"
import * as Accounts from "./budgetAccounts.js"
import * as Monotonic from "./monotonic.js"

export const TypeId = "~@breakwater/resilience/RetryBudget"

export class Budget implements RetryBudget {
  readonly [TypeId] = TypeId
  /** The permits of fibers that retry by a plain schedule, see {@link track}. */
  readonly tracked = new WeakMap<Fiber.RuntimeFiber<unknown, unknown>, { permit: Permit | undefined }>()

  constructor(
    readonly name: string,
    readonly accounts: ReadonlyArray<Accounts.Account>
  ) {}

  readonly balance: Effect.Effect<number> = Effect.map(Monotonic.now, (now) =>
    this.accounts.reduce((least, account) => Math.min(least, account.balance(now)), Infinity)
  )

  unsafeStarted(now: number): void {
    for (const account of this.accounts) account.started(now)
  }

  unsafeSettled(outcome: Outcome, permit: Permit | undefined, now: number): void {
    const granted = permit as Accounts.Grant | undefined
    for (const account of this.accounts) account.settled(outcome, granted?.of(account), now)
    granted?.use()
  }

  unsafeEnded(now: number): void {
    for (const account of this.accounts) account.ended(now)
  }

  unsafeRetry(kind: Kind, now: number): Permit | undefined {
    return Accounts.grant(this.accounts, kind, now)
  }

  unsafeReturned(permit: Permit, now: number): void {
    ;(permit as Accounts.Grant).giveBack(now)
  }
}

/** `many` are going to share their name, and show no balance: each would overwrite the others'. */
export const make = (ledger: Ledger, name = "default", many = false): Effect.Effect<RetryBudget> => {
  const metrics = RetryMetrics.ofBudget(name)
  return Effect.map(Monotonic.now, (now) => new Budget(name, [new Accounts.LedgerAccount(ledger, metrics, now, !many)]))
}

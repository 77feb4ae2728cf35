import type { KeyedEntries, RetryBudget as Rule } from "@breakwater/core"
import type { Permit } from "../RetryBudget.js"
import type * as RetryMetrics from "../RetryMetrics.js"

/** What a budget asks for each step of the protocol: an account, or the one that a key has at the time. */
export interface Account {
  readonly started: (now: number) => void
  readonly settled: (outcome: Rule.Outcome, permit: Rule.Permit | undefined, now: number) => void
  readonly ended: (now: number) => void
  readonly returned: (permit: Rule.Permit, now: number) => void
  readonly balance: (now: number) => number
  /** What granting a retry would come to; nothing is taken before `commit`. */
  readonly offered: (kind: Rule.Kind, now: number) => Offer | undefined
}

export interface Offer {
  readonly permit: Rule.Permit
  readonly commit: () => void
}

/** One ledger and where it stands. The only place where a ledger's state is exchanged for the next one. */
export class LedgerAccount implements Account {
  private state: unknown

  constructor(
    readonly ledger: Rule.Ledger,
    private readonly metrics: RetryMetrics.OfBudget,
    now: number,
    /** Not for one of many under one name: they would show in turn. */
    private readonly showsBalance = true
  ) {
    this.state = ledger.initial(now)
    this.shown(now)
  }

  started(now: number): void {
    this.state = this.ledger.started(this.state, now)
  }

  settled(outcome: Rule.Outcome, permit: Rule.Permit | undefined, now: number): void {
    const before = this.state
    this.state = this.ledger.settled(before, outcome, permit, now)
    if (this.state !== before) this.shown(now)
  }

  ended(now: number): void {
    this.state = this.ledger.ended(this.state, now)
  }

  returned(permit: Rule.Permit, now: number): void {
    this.state = this.ledger.returned(this.state, permit, now)
    this.shown(now)
  }

  balance(now: number): number {
    return this.ledger.balance(this.state, now)
  }

  offered(kind: Rule.Kind, now: number): Offer | undefined {
    const granted = this.ledger.retry(this.state, kind, now)
    if (granted === undefined) {
      this.metrics.refusals.unsafeUpdate(1, [])
      this.shown(now)
      return undefined
    }
    return {
      permit: granted.permit,
      commit: () => {
        this.state = granted.state
        this.shown(now)
      }
    }
  }

  private shown(now: number): void {
    if (this.showsBalance) this.metrics.balance.unsafeUpdate(this.balance(now), [])
  }
}

/** The account of a key. It is the key's while one of its operations runs, and may be another one the next time. */
export class KeyedAccount<Key> implements Account {
  private held: KeyedEntries.Entry<LedgerAccount> | undefined
  private operations = 0

  constructor(
    private readonly entries: KeyedEntries.KeyedEntries<Key, LedgerAccount>,
    private readonly key: Key
  ) {}

  started(now: number): void {
    this.operations++
    this.held ??= this.entries.acquire(this.key, now)
    this.held.value.started(now)
  }

  ended(now: number): void {
    if (this.held === undefined) return
    this.held.value.ended(now)
    if (--this.operations > 0) return
    this.entries.release(this.held, now)
    this.held = undefined
  }

  settled(outcome: Rule.Outcome, permit: Rule.Permit | undefined, now: number): void {
    this.with(now, (account) => account.settled(outcome, permit, now))
  }

  returned(permit: Rule.Permit, now: number): void {
    this.with(now, (account) => account.returned(permit, now))
  }

  offered(kind: Rule.Kind, now: number): Offer | undefined {
    return this.with(now, (account) => account.offered(kind, now))
  }

  balance(now: number): number {
    return this.with(now, (account) => account.balance(now))
  }

  private with<A>(now: number, use: (account: LedgerAccount) => A): A {
    if (this.held !== undefined) return use(this.held.value)
    const entry = this.entries.acquire(this.key, now)
    const result = use(entry.value)
    this.entries.release(entry, now)
    return result
  }
}

/** A right to one retry from every account that was asked. It counts once. */
export class Grant implements Permit {
  spent = false
  constructor(private readonly parts: ReadonlyMap<Account, Rule.Permit>) {}

  /** What an account has granted of it, if it still counts. */
  of(account: Account): Rule.Permit | undefined {
    return this.spent ? undefined : this.parts.get(account)
  }

  use(): void {
    this.spent = true
  }

  giveBack(now: number): void {
    if (this.spent) return
    this.spent = true
    for (const [account, permit] of this.parts) account.returned(permit, now)
  }
}

/** A retry is granted only where every account grants it, and then taken from all of them; otherwise from none. */
export const grant = (accounts: ReadonlyArray<Account>, kind: Rule.Kind, now: number): Grant | undefined => {
  const parts = new Map<Account, Rule.Permit>()
  const commits: Array<() => void> = []
  for (const account of accounts) {
    const offer = account.offered(kind, now)
    if (offer === undefined) return undefined
    parts.set(account, offer.permit)
    commits.push(offer.commit)
  }
  for (const commit of commits) commit()
  return new Grant(parts)
}

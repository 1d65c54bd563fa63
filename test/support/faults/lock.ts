/** One at a time, in the order in which they came: what happens in a world then depends on who asked, and not on who was quick. */
export class Lock {
  #last: Promise<unknown> = Promise.resolve()

  run<T>(act: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(act)
    this.#last = turn.catch(() => undefined)
    return turn
  }
}

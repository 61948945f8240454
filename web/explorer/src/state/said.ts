/** What went well or wrong, as it is said to whoever looks. */

export interface Notice {
  id: number
  text: string
  hint?: string | undefined
  isBad: boolean
}

/** For so long it is said what went well. */
const NOTICE_MS = 6000

export class Said {
  /** The newest is last. */
  all: readonly Notice[] = []
  private next = 0

  constructor(private readonly changed: () => void) {}

  well(text: string): void {
    const id = this.add({ text, isBad: false })
    setTimeout(() => this.dismiss(id), NOTICE_MS)
  }

  /** It stays until it is dismissed: who looks elsewhere, or reads slowly, would not know of it. */
  wrong(text: string, hint?: string): void {
    this.add({ text, hint, isBad: true })
  }

  /** What is said next takes the place of what went wrong: it may be that it went well after all. */
  private add(notice: Omit<Notice, 'id'>): number {
    const id = this.next++
    this.all = [...this.all.filter(({ text, isBad }) => !isBad && text !== notice.text), { id, ...notice }]
    this.changed()
    return id
  }

  dismiss(id: number): void {
    this.keep((notice) => notice.id !== id)
  }

  dismissAll(): void {
    this.keep(() => false)
  }

  private keep(isKept: (notice: Notice) => boolean): void {
    this.all = this.all.filter(isKept)
    this.changed()
  }
}

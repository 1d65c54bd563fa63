/** What every piece on GitHub is made with: the access, the repository, the news, and the hidden marks that it is found again by. */
import type { News } from '../../loop/telling.ts'
import type { Access } from './app.ts'

export interface Scene {
  access: Access
  at: { owner: string; repo: string }
  news: News
}

/** A comment of HTML that nobody sees. Texts of others cannot hold one: their `<` is escaped. */
export const mark = (kind: string, key: string): string => `<!-- reviewloop:${kind} ${key} -->`

/** Written by this App, and by nobody who copied its mark. */
export const isOurs = ({ app }: Access, user: { login: string; type: string } | null | undefined): boolean =>
  user?.type === 'Bot' && user.login === `${app.slug}[bot]`

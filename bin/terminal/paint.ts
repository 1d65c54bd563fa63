import { styleText } from 'node:util'

export interface Screen {
  write(text: string): unknown
  isTTY?: boolean
  columns?: number
}

export type Paint = (style: Parameters<typeof styleText>[0], text: string) => string

/** Colours, where the screen is a terminal and NO_COLOR does not say otherwise; plain text else. */
export const paintFor = (screen: Screen, env: Readonly<Record<string, string | undefined>> = process.env): Paint => {
  const plain = !screen.isTTY || Boolean(env['NO_COLOR']) || env['TERM'] === 'dumb'
  return (style, text) => (plain ? text : styleText(style, text, { validateStream: false }))
}

/** 850 ms, 4.2 s, 1 min 05 s. */
export const duration = (milliseconds: number): string => {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`
  if (milliseconds < 60_000) return `${(milliseconds / 1000).toFixed(1)} s`
  const seconds = Math.round(milliseconds / 1000)
  return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, '0')} s`
}

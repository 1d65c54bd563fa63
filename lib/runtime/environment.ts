/** The environment of a function. What is missing is named, and stops the function before it does anything. */
import type { ENV } from '../names.ts'

export const requireEnv = (name: (typeof ENV)[keyof typeof ENV]): string => {
  const value = process.env[name]
  if (!value) throw new Error(`The environment variable ${name} is not set.`)
  return value
}

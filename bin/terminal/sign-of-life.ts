import { Progress } from './progress.ts'

/** Does something that may take long, and says so on stderr while it does. */
export const signOfLife = async <T>(label: string, quiet: boolean | undefined, work: () => Promise<T>): Promise<T> => {
  if (quiet) return work()
  const progress = new Progress({ screen: process.stderr })
  progress.begin(label)
  try {
    return await work()
  } finally {
    await progress.stop()
  }
}

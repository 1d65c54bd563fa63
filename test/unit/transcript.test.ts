import { describe, expect, it } from 'vitest'
import { checksumOf, loadTranscript, MAX_TRANSCRIPT_BYTES, TranscriptCopy } from '../../lib/loop/transcript.ts'
import { memoryArtifacts } from '../support/memory-store.ts'

const KEY = 'transcripts/reviewer/r-1/1.1'

const stored = async (transcript: TranscriptCopy) => {
  const artifacts = memoryArtifacts()
  await artifacts.put(KEY, transcript.bytes())
  return { artifacts, at: { transcript: KEY, checksum: checksumOf(transcript.bytes()) } }
}

describe('a transcript', () => {
  it('appends, gives its history, resets', () => {
    const transcript = new TranscriptCopy()
    expect(transcript.history()).toEqual([])
    transcript.append({ say: 'one' })
    transcript.append('two')
    expect(transcript.history()).toEqual([{ say: 'one' }, 'two'])
    transcript.reset()
    expect(transcript.history()).toEqual([])
    expect(transcript.bytes()).toHaveLength(0)
  })

  it('keeps an entry as it was, whatever is done to the object or to the history later', () => {
    const transcript = new TranscriptCopy()
    const entry = { say: 'one' }
    transcript.append(entry)
    entry.say = 'changed'
    ;(transcript.history()[0] as typeof entry).say = 'changed too'
    expect(transcript.history()).toEqual([{ say: 'one' }])
  })

  it('is stored and loaded whole, whatever the entries hold', async () => {
    const entries = ['', 'a\nb', 'a\u2028b\u2029c', '\r\n', { deep: [null, 1.5, { ä: '✓' }] }, null]
    const transcript = new TranscriptCopy()
    for (const entry of entries) transcript.append(entry)
    transcript.append(undefined)
    const { artifacts, at } = await stored(transcript)
    const loaded = await loadTranscript(artifacts, at)
    expect('transcript' in loaded && loaded.transcript.history()).toEqual([...entries, null])
    expect('transcript' in loaded && loaded.transcript.bytes()).toEqual(transcript.bytes())
  })

  it('is loaded as a copy: what is stored does not change', async () => {
    const transcript = new TranscriptCopy()
    transcript.append('one')
    const { artifacts, at } = await stored(transcript)
    const loaded = await loadTranscript(artifacts, at)
    if ('transcript' in loaded) loaded.transcript.append('two')
    expect(artifacts.objects.get(KEY)).toEqual(transcript.bytes())
  })

  it('that is missing, altered or too large is lost, and it is said how', async () => {
    const { artifacts, at } = await stored(new TranscriptCopy(['"one"']))
    expect(await loadTranscript(artifacts, { ...at, transcript: 'transcripts/other' })).toEqual({ lost: 'its transcript is missing' })
    expect(await loadTranscript(artifacts, { ...at, checksum: checksumOf(new Uint8Array()) })).toEqual({
      lost: 'its transcript was altered',
    })
    artifacts.objects.set(KEY, new Uint8Array(MAX_TRANSCRIPT_BYTES + 1))
    expect(await loadTranscript(artifacts, at)).toEqual({ lost: 'its transcript is too large' })
  })

  it('can be stored up to the limit, counted in bytes', () => {
    const transcript = new TranscriptCopy()
    transcript.append('ä'.repeat((MAX_TRANSCRIPT_BYTES - 4) / 2))
    expect(transcript.bytes().length).toBeLessThanOrEqual(MAX_TRANSCRIPT_BYTES)
    expect(transcript.storable).toBe(true)
    transcript.append('ä')
    expect(transcript.storable).toBe(false)
    transcript.reset()
    expect(transcript.storable).toBe(true)
  })
})

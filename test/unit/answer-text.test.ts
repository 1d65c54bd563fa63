/** Answers that came as text: whole, in a fence, with prose around. What was cut off is none. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { answerIn } from '../../lib/loop/answer-text.ts'

const ANSWER = {
  findings: [{ rule: 'r', text: 'use `x` and ```y```, a "quote", a \\ and {braces]' }],
  accounts: [],
  skipped: [],
  summary: '',
}
const json = JSON.stringify(ANSWER)
const pretty = JSON.stringify(ANSWER, null, 2)

describe('case 9: an answer that came as text', () => {
  it.each([
    ['alone', json],
    ['alone, over several lines', `\n${pretty}\n`],
    ['in a fence', `\`\`\`json\n${pretty}\n\`\`\``],
    ['in a fence with prose around', `I looked at it all.\n\n\`\`\`json\n${pretty}\n\`\`\`\n\nThat is all.`],
    ['in a fence with Windows line ends', `Here:\r\n\`\`\`json\r\n${pretty.replaceAll('\n', '\r\n')}\r\n\`\`\`\r\n`],
    ['in a fence of tildes', `~~~\n${json}\n~~~`],
    ['in a longer fence', `\`\`\`\`\n${json}\n\`\`\`\``],
    ['in a fence that nobody closed', `\`\`\`json\n${pretty}`],
    ['in prose', `Here it is: ${json} and nothing else.`],
    ['after an object that is not it', `First {"a": 1}, then ${json}`],
    ['in the second of two fences', `\`\`\`json\n{"a":1}\n\`\`\`\nand\n\`\`\`json\n${json}\n\`\`\``],
    ['beside a fence of something else', `\`\`\`ts\nconst a = { b }\n\`\`\`\n${json}`],
    ['after brackets that begin no JSON', `In f(x) { return [1] } and [a link](b) and {so on: ${json}`],
    ['in a fence, with an example before it', `Such as {"findings": 7}:\n\`\`\`\n${json}\n\`\`\``],
  ])('is found %s', (_where, text) => {
    expect(answerIn(text)).toEqual(ANSWER)
  })

  it.each([
    ['nothing at all', ''],
    ['prose alone', 'There is nothing wrong with it. { or [ is no answer.'],
    ['a list', `[${json}]`],
    ['a string', '"findings"'],
    ['an answer that was cut off', json.slice(0, -5)],
    ['one that was cut off in a string', json.slice(0, json.indexOf('braces'))],
    ['one that was cut off behind an inner object', `${json.slice(0, json.indexOf(']'))}]`],
    ['one that was cut off in a fence that was closed', `\`\`\`json\n${json.slice(0, -1)}\n\`\`\``],
    ['a whole one and then one that was cut off', `${json}\n\nNo, rather:\n${json.slice(0, -1)}`],
    ['a fence and then one that was cut off', `\`\`\`json\n${json}\n\`\`\`\nNo, rather:\n${json.slice(0, -1)}`],
    ['a list that was cut off', `[${json}, ${json}`],
    ['single quotes', "{'findings': []}"],
    ['a comma too many', '{"findings": [],}'],
  ])('is not made of %s', (_what, text) => {
    expect(answerIn(text)).toBeNull()
  })
})

const value = fc.jsonValue({ maxDepth: 4, stringUnit: fc.constantFrom('`', '```', '"', '\\', '{', '}', '[', ']', '\n', 'a', ' ', 'é') })
const answer = fc.dictionary(fc.string({ unit: fc.constantFrom('`', '"', '{', '}', 'a') }), value, { minKeys: 1 })
/** Prose with no brackets of its own, or with such as begin nothing. */
const prose = fc
  .array(fc.constantFrom('Look', ' at `this`', '\n', ' {so}', ' [1]', ' "quoted"', '.', ' f(x) { y }', '\n- one'))
  .map((parts) => parts.join(''))

describe('case 9: whatever the answer', () => {
  it('is found whole with prose around it, bare or in a fence', () => {
    fc.assert(
      fc.property(answer, prose, prose, fc.constantFrom(0, 2), fc.boolean(), (given, before, after, indent, isFenced) => {
        const text = JSON.stringify(given, null, indent)
        const around = isFenced ? `${before}\n\`\`\`json\n${text}\n\`\`\`\n${after}` : `${before}\n${text}\n${after}`
        expect(JSON.stringify(answerIn(around))).toBe(JSON.stringify(given))
      }),
    )
  })

  it('is none where it was cut off, wherever that was', () => {
    fc.assert(
      fc.property(answer, prose, fc.nat(), fc.boolean(), (given, before, at, isFenced) => {
        const text = JSON.stringify(given)
        const part = text.slice(0, 1 + (at % (text.length - 1)))
        expect(answerIn(`${before}\n${isFenced ? '```json\n' : ''}${part}${isFenced && at % 2 ? '\n```' : ''}`)).toBeNull()
      }),
    )
  })

  it('comes from text of any kind without an error, and is an object', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('`', '```', '\n', '"', '\\', '{', '}', '[', ']', ':', ',', 'a', '1', ' ') }),
        (text) => {
          const found = answerIn(text)
          expect(found === null || (typeof found === 'object' && !Array.isArray(found))).toBe(true)
        },
      ),
    )
  })

  it('is looked for in no more than one pass', () => {
    const text = '{"a": '.repeat(100_000)
    expect(answerIn(text)).toBeNull()
    expect(answerIn(`${'{"a": x} '.repeat(100_000)}${json}`)).toEqual(ANSWER)
  })
})

import { describe, expect, it } from 'vitest';
import { ended, next, noRun, type RunEvent, type RunState } from './runState';

const play = (events: RunEvent[], from: RunState = noRun) => events.reduce(next, from);

const begun: RunEvent[] = [
  { __typename: 'AgentRunStart', seq: 1, runId: 'r', conversationId: 'c' },
  { __typename: 'AgentIteration', seq: 2, number: 1, status: 'planning' },
  { __typename: 'AgentContent', seq: 3, content: 'Höre' },
  { __typename: 'AgentContent', seq: 4, content: ' 😀!' },
  { __typename: 'AgentToolCall', seq: 5, tool: 'search_documents', params: { query: 'x' }, callId: 'k' },
];

describe('the state of a run', () => {
  it('joins pieces of text, and keeps calls where they were made', () => {
    const state = play(begun);
    expect(state.runId).toBe('r');
    expect(state.parts.map(({ kind }) => kind)).toEqual(['step', 'text', 'call']);
    expect(state.parts[1]).toEqual({ kind: 'text', text: 'Höre 😀!' });
  });
  it('does not apply an event twice', () => {
    const state = play(begun);
    expect(play(begun, state)).toBe(state);
  });
  it('gives results, questions and missing accounts to their call', () => {
    const state = play(
      [
        { __typename: 'AgentApprovalRequired', seq: 6, approvalId: 'a', callId: 'k', tool: 'search_documents', title: 'Search?' },
        { __typename: 'AgentRunWaiting', seq: 7, approvals: 1 },
      ],
      play(begun),
    );
    expect(state.phase).toBe('waiting');
    expect(state.parts[2]).toMatchObject({ approvals: [{ id: 'a', title: 'Search?' }], result: null });
    const after = play(
      [
        { __typename: 'AgentRunResumed', seq: 8, contentLength: 6 },
        { __typename: 'AgentToolResult', seq: 9, tool: 'search_documents', success: true, callId: 'k', message: 'ok' },
        { __typename: 'AgentRunComplete', seq: 10, usage: { totalTokens: 3, promptTokens: 2, completionTokens: 1 }, sources: [] },
      ],
      state,
    );
    expect(after.parts[1]).toEqual({ kind: 'text', text: 'Höre 😀' });
    expect(after.parts[2]).toMatchObject({ result: { success: true, message: 'ok' } });
    expect(ended(after)).toBe(true);
  });
});

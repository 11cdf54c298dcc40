// What is shown of a run, from its events.
import type { AgentEventFieldsFragment } from './runs.gql';

export type RunEvent = AgentEventFieldsFragment;
type Of<T extends RunEvent['__typename']> = Extract<RunEvent, { __typename: T }>;

export interface CallPart {
  kind: 'call';
  callId: string;
  tool: string;
  params: Record<string, unknown> | null;
  result: { success: boolean; message: string } | null;
  approvals: { id: string; title: string }[];
  auth: Pick<Of<'AgentAuthRequired'>, 'integrationId' | 'name' | 'authorizationUrl'> | null;
}

export type Part = { kind: 'text'; text: string } | { kind: 'step'; number: number; status: string } | CallPart;

export type Phase = 'starting' | 'running' | 'waiting' | 'completed' | 'failed';

export interface RunState {
  runId: string | null;
  conversationId: string | null;
  // The number of the last event.
  seq: number;
  phase: Phase;
  parts: Part[];
  // How many decisions the run waits for.
  waitingFor: number;
  resumed: boolean;
  usage: Of<'AgentRunComplete'>['usage'] | null;
  sources: Of<'AgentRunComplete'>['sources'];
  error: { code: string; message: string; requestId: string | null } | null;
}

export const noRun: RunState = {
  runId: null,
  conversationId: null,
  seq: 0,
  phase: 'starting',
  parts: [],
  waitingFor: 0,
  resumed: false,
  usage: null,
  sources: [],
  error: null,
};

// cut leaves the first length code points of all texts.
function cut(parts: Part[], length: number): Part[] {
  let left = length;
  return parts.flatMap((part): Part[] => {
    if (part.kind !== 'text') return [part];
    const letters = [...part.text];
    const kept = letters.slice(0, Math.max(0, left)).join('');
    left -= letters.length;
    return kept === '' ? [] : [{ kind: 'text', text: kept }];
  });
}

// changeCall changes the call with an id, or adds it if its event has not come.
function changeCall(parts: Part[], callId: string, tool: string, change: (call: CallPart) => CallPart): Part[] {
  if (!parts.some((part) => part.kind === 'call' && part.callId === callId)) {
    return [...parts, change({ kind: 'call', callId, tool, params: null, result: null, approvals: [], auth: null })];
  }
  return parts.map((part) => (part.kind === 'call' && part.callId === callId ? change(part) : part));
}

// addText joins a piece to the text before it.
function addText(parts: Part[], text: string): Part[] {
  const last = parts.at(-1);
  if (last?.kind === 'text') return [...parts.slice(0, -1), { kind: 'text', text: last.text + text }];
  return [...parts, { kind: 'text', text }];
}

// next returns the state after an event. An event that came before changes nothing.
export function next(state: RunState, event: RunEvent): RunState {
  if (event.seq <= state.seq) return state;
  const after: RunState = { ...state, seq: event.seq };
  const { parts } = state;
  switch (event.__typename) {
    case 'AgentRunStart':
      return { ...after, runId: event.runId, conversationId: event.conversationId, phase: 'running' };
    case 'AgentIteration': {
      // What a step does changes; it is shown once.
      const last = parts.at(-1);
      const before = last?.kind === 'step' && last.number === event.number ? parts.slice(0, -1) : parts;
      return { ...after, phase: 'running', parts: [...before, { kind: 'step', number: event.number, status: event.status }] };
    }
    case 'AgentToolCall':
      return { ...after, parts: changeCall(parts, event.callId, event.tool, (call) => ({ ...call, params: event.params })) };
    case 'AgentToolResult':
      return {
        ...after,
        parts: changeCall(parts, event.callId, event.tool, (call) => ({
          ...call,
          result: { success: event.success, message: event.message },
        })),
      };
    case 'AgentContent':
      return { ...after, phase: 'running', parts: addText(parts, event.content) };
    case 'AgentApprovalRequired': {
      const { approvalId: id, title } = event;
      return {
        ...after,
        parts: changeCall(parts, event.callId, event.tool, (call) => ({ ...call, approvals: [...call.approvals, { id, title }] })),
      };
    }
    case 'AgentAuthRequired': {
      const { integrationId, name, authorizationUrl } = event;
      return {
        ...after,
        parts: changeCall(parts, event.callId, name, (call) => ({ ...call, auth: { integrationId, name, authorizationUrl } })),
      };
    }
    case 'AgentRunWaiting':
      return { ...after, phase: 'waiting', waitingFor: event.approvals };
    case 'AgentRunResumed':
      return { ...after, phase: 'running', waitingFor: 0, resumed: true, parts: cut(parts, event.contentLength) };
    case 'AgentRunComplete':
      return { ...after, phase: 'completed', usage: event.usage, sources: event.sources };
    case 'AgentError':
      return { ...after, phase: 'failed', error: { code: event.code, message: event.message, requestId: event.requestId ?? null } };
    default:
      return after;
  }
}

// ended reports whether no more events come.
export const ended = ({ phase }: RunState) => phase === 'completed' || phase === 'failed';

// The state of the pages of agents in the address.
import { oneOf, text, typed } from '../../app/params';
import type { AgentMemoryKind } from '../../gql/schema';

export const agentTabs = ['chat', 'conversations', 'runs', 'memories', 'permissions'] as const;
export const memoryKinds: AgentMemoryKind[] = ['FACT', 'PREFERENCE', 'INSIGHT', 'PROCEDURE'];

export interface AgentSearch {
  tab?: (typeof agentTabs)[number];
  conversation?: string;
  run?: string;
  // What conversations or memories are searched for, and the kind of memories.
  q?: string;
  kind?: AgentMemoryKind;
}

export function agentSearch(search: Record<string, unknown>): AgentSearch {
  return {
    tab: oneOf(search.tab, agentTabs),
    conversation: text(search.conversation),
    run: text(search.run),
    q: typed(search.q, 300),
    kind: oneOf(search.kind, memoryKinds),
  };
}

export function agentsSearch(search: Record<string, unknown>): { tab?: 'agents' | 'templates'; q?: string } {
  return { tab: oneOf(search.tab, ['agents', 'templates']), q: typed(search.q, 300) };
}

// Names of people and agents, of which most objects have only the id.
import { useQuery } from 'urql';
import { t } from '../../i18n';
import { nodesOf } from '../../kit/usePaged';
import { useMe } from '../../session/Me';
import { AgentsListDocument } from './agents.gql';
import { ApprovalsPeopleDocument } from './approvals.gql';

export interface Person {
  id: string;
  name: string;
}

// usePeople returns the people of the workspace, and their names by id.
export function usePeople(): { people: Person[]; nameOf: (id: string | null | undefined) => string } {
  const me = useMe();
  const [{ data }] = useQuery({ query: ApprovalsPeopleDocument, requestPolicy: 'cache-first' });
  const people = (data?.members.edges ?? []).flatMap((edge) =>
    edge?.node ? [{ id: edge.node.userId, name: edge.node.user.name || edge.node.user.email }] : [],
  );
  const nameOf = (id: string | null | undefined) => {
    if (!id) return t('agents.everybody');
    if (id === me.user.id) return t('agents.you');
    return people.find((person) => person.id === id)?.name ?? t('agents.someone');
  };
  return { people, nameOf };
}

// useAgentNames returns the agents, and their names by id.
export function useAgentNames(): { agents: { id: string; name: string }[]; nameOf: (id: string) => string } {
  const [{ data }] = useQuery({ query: AgentsListDocument, variables: { first: 200 }, requestPolicy: 'cache-first' });
  const agents = nodesOf(data?.agents);
  return { agents, nameOf: (id) => agents.find((agent) => agent.id === id)?.name ?? t('agents.unknownAgent') };
}

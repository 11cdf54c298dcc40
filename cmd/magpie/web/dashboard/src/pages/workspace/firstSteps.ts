// What is done of the first steps.
import { stringifyDocument } from '@urql/core';
import type { TypedDocumentNode } from 'urql';
import { accessToken, call } from '../../session/session';
import { type Step, steps } from './search';
import {
  WorkspaceWelcomeDocument,
  WorkspaceWelcomeKeysDocument,
  type WorkspaceWelcomeKeysQuery,
  type WorkspaceWelcomeQuery,
} from './welcome.gql';

// stepsDone tells from the workspace itself which steps are done. keys are for administrators; a widget needs one, too.
export function stepsDone(
  { connectors, usage }: WorkspaceWelcomeQuery,
  keys: WorkspaceWelcomeKeysQuery | undefined,
): Record<Step, boolean> {
  const connector = connectors.edges?.[0]?.node ?? null;
  return {
    source: connector !== null,
    sync: connector !== null && (connector.lastSync != null || connector.documentCounts.indexed > 0),
    search: usage.queries > 0,
    publish: (keys?.apiKeys.totalCount ?? 0) > 0,
  };
}

// read asks once, before there is a client with a cache.
async function read<D, V>(document: TypedDocumentNode<D, V>): Promise<D> {
  const answer = await call<{ data?: D }>('POST', '/graphql', { query: stringifyDocument(document) }, (await accessToken()) ?? undefined);
  if (!answer.data) throw new Error('no answer');
  return answer.data;
}

// areFirstStepsDone reports whether a person has nothing more to do in them. Only administrators make keys.
export async function areFirstStepsDone(isAdmin: boolean): Promise<boolean> {
  const [workspace, keys] = await Promise.all([
    read(WorkspaceWelcomeDocument),
    isAdmin ? read(WorkspaceWelcomeKeysDocument) : Promise.resolve(undefined),
  ]);
  const done = stepsDone(workspace, keys);
  return steps.every((step) => done[step] || (step === 'publish' && !isAdmin));
}

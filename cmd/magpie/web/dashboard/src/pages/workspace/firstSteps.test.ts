import { expect, it } from 'vitest';
import { stepsDone } from './firstSteps';
import type { WorkspaceWelcomeQuery } from './welcome.gql';

const workspace = (connectors: object[], queries: number) =>
  ({ connectors: { edges: connectors.map((node) => ({ node })) }, usage: { queries } }) as unknown as WorkspaceWelcomeQuery;
const keys = (totalCount: number) => ({ apiKeys: { totalCount } });
const counts = { pending: 0, processing: 0, indexed: 0, failed: 0 };

it('begins with nothing', () => {
  expect(stepsDone(workspace([], 0), undefined)).toEqual({ source: false, sync: false, search: false, publish: false });
});

it('goes on with each step', () => {
  expect(stepsDone(workspace([{ lastSync: null, documentCounts: counts }], 0), keys(0))).toEqual({
    source: true,
    sync: false,
    search: false,
    publish: false,
  });
  expect(stepsDone(workspace([{ lastSync: null, documentCounts: { ...counts, indexed: 2 } }], 1), keys(0))).toEqual({
    source: true,
    sync: true,
    search: true,
    publish: false,
  });
});

it('counts a search of the demo documents only when somebody searched', () => {
  const demo = [{ lastSync: '2026-01-01T00:00:00Z', documentCounts: counts }];
  expect(stepsDone(workspace(demo, 0), keys(2))).toEqual({ source: true, sync: true, search: false, publish: true });
});

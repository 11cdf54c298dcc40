import { useEach, watch } from '../../api/live';
import { useSoon } from '../../kit/useSoon';
import { ConnectorsSyncDocument } from './connector.gql';
import type { ConnectorsListQuery } from './list.gql';

type Row = NonNullable<NonNullable<NonNullable<ConnectorsListQuery['connectors']['edges']>[number]>['node']>;

const pause = 1000; // milliseconds between a change and reading the list again

// useSyncs reads a list of connectors again when a sync of one of them begins or ends.
export function useSyncs(rows: Row[], reload: () => void) {
  const readSoon = useSoon(reload, pause);
  useEach(
    rows.map(({ id }) => id),
    (connectorId) => {
      const shown = rows.find(({ id }) => id === connectorId)?.lastJob;
      let last = shown && { jobId: shown.id, status: shown.status };
      return watch({
        document: ConnectorsSyncDocument,
        variables: () => ({ connectorId, after: last?.jobId ?? null }),
        onData: ({ connectorSync: { job } }) => {
          if (!job || (job.jobId === last?.jobId && job.status === last.status)) return;
          last = job;
          readSoon();
        },
      });
    },
  );
}

import { useRef, useState } from 'react';
import { useLive } from '../../api/live';
import type { SyncJobStatus } from '../../gql/schema';
import { ConnectorsSyncDocument, type ConnectorsSyncSubscription } from './connector.gql';

export type JobEvent = NonNullable<ConnectorsSyncSubscription['connectorSync']['job']>;

export const isOpen = (status: SyncJobStatus | undefined) => status === 'QUEUED' || status === 'RUNNING';

// handled is the number of items with which a job has done something.
export const handled = ({ stats }: Pick<JobEvent, 'stats'>) =>
  stats.added + stats.modified + stats.unchanged + stats.skipped + stats.errors;

export interface Sample {
  at: number; // milliseconds
  items: number;
}

const span = 30_000; // milliseconds

// sampled returns the samples of the last 30 seconds with a new one.
export function sampled(samples: Sample[], next: Sample): Sample[] {
  const before = samples.filter(({ at }) => at >= next.at - span);
  if (before.at(-1)?.at === next.at) before.pop();
  return [...before, next].slice(-600);
}

// rate returns the items a second between the first and the last sample; null if they tell none.
export function rate(samples: Sample[]): number | null {
  const first = samples[0];
  const last = samples.at(-1);
  if (!first || !last || last.at - first.at < 1000 || last.items <= first.items) return null;
  return ((last.items - first.items) * 1000) / (last.at - first.at);
}

// remaining returns the seconds until all items of the source are handled; null if that is not known.
export function remaining(perSecond: number | null, total: number | null | undefined, items: number): number | null {
  if (!perSecond || !total || total <= items) return null;
  return (total - items) / perSecond;
}

// useConnectorSync follows the jobs of a connector. onTurn is called when another job begins and when the state of one
// changes.
export function useConnectorSync(connectorId: string, onTurn: (job: JobEvent) => void) {
  const [job, setJob] = useState<JobEvent | null>(null);
  const newest = useRef<JobEvent | null>(null);
  const samples = useRef<Sample[]>([]);
  const live = useLive(`connector-sync:${connectorId}`, {
    document: ConnectorsSyncDocument,
    variables: () => ({ connectorId, after: newest.current?.jobId ?? null }),
    onData: ({ connectorSync: { job: event } }) => {
      const last = newest.current;
      if (!event) return;
      if (last?.jobId === event.jobId) {
        if (event.attempt < last.attempt || (event.attempt === last.attempt && event.revision < last.revision)) return;
      } else if (last && event.createdAt < last.createdAt) return;
      const turned = last?.jobId !== event.jobId || last.status !== event.status;
      newest.current = event;
      samples.current = turned ? [] : samples.current;
      if (event.status === 'RUNNING') samples.current = sampled(samples.current, { at: Date.now(), items: handled(event) });
      setJob(event);
      if (turned) onTurn(event);
    },
  });
  return { job, perSecond: job?.status === 'RUNNING' ? rate(samples.current) : null, live: live.state };
}

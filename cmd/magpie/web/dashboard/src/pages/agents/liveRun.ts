// Runs that this page follows. They are kept outside of the components, since a run that
// nobody follows is canceled after ten seconds: a person who looks at another page of the
// dashboard keeps following it.
import { useSyncExternalStore } from 'react';
import { type LiveState, watch } from '../../api/live';
import { onSession, RequestError } from '../../session/session';
import { ended, next, noRun, type RunState } from './runState';
import { AgentsFollowRunDocument, AgentsRunAgentDocument } from './runs.gql';

export interface LiveRun {
  state: RunState;
  connection: LiveState;
  // Why the run could not be begun or followed.
  problem: unknown;
}

type Listener = () => void;

const first: LiveRun = { state: noRun, connection: 'connecting', problem: null };

class Follower {
  view = first;
  private listeners = new Set<Listener>();
  private stop: (() => void) | null = null;

  constructor(runId: string | null) {
    if (runId) this.view = { ...first, state: { ...noRun, runId } };
  }

  readonly subscribe = (listener: Listener) => {
    this.listeners.add(listener);
    return () => {
      this.listeners.delete(listener);
      this.release();
    };
  };

  readonly snapshot = () => this.view;

  // begin starts a run. It is followed by its id when the connection is lost, so that it is begun once.
  begin(input: { agentId: string; message: string; conversationId: string | null }, onStart: (runId: string) => void) {
    let started = false;
    this.stop = watch({
      document: AgentsRunAgentDocument,
      once: true,
      variables: () => ({ input }),
      onData: ({ runAgent }) => {
        this.change({ state: next(this.view.state, runAgent) });
        if (!started && this.view.state.runId) {
          started = true;
          onStart(this.view.state.runId);
        }
      },
      onState: (connection, problem) => {
        if (connection !== 'waiting') {
          this.report(connection, problem);
          return;
        }
        if (this.view.state.runId) this.follow();
        else this.change({ connection: 'failed', problem: new RequestError(0, 'offline', '', null, null) });
      },
    });
  }

  // follow continues after the last event.
  follow() {
    const { runId } = this.view.state;
    if (!runId) return;
    this.stop = watch({
      document: AgentsFollowRunDocument,
      variables: () => ({ runId, after: this.view.state.seq || null }),
      onData: ({ agentRun }) => this.change({ state: next(this.view.state, agentRun) }),
      onState: (connection, problem) => this.report(connection, problem),
    });
  }

  close() {
    this.stop?.();
    this.stop = null;
  }

  private report(connection: LiveState, problem: unknown) {
    this.change({ connection, problem: problem ?? null });
    if (connection === 'ended' || connection === 'failed') this.release();
  }

  private change(part: Partial<LiveRun>) {
    this.view = { ...this.view, ...part };
    for (const listener of this.listeners) listener();
  }

  // release forgets a run that nobody looks at and that does not need a follower.
  private release() {
    window.setTimeout(() => {
      const { state, connection } = this.view;
      const idle = ended(state) || state.phase === 'waiting' || connection === 'ended' || connection === 'failed';
      if (this.listeners.size > 0 || !idle) return;
      this.close();
      if (state.runId && followers.get(state.runId) === this) followers.delete(state.runId);
    });
  }
}

const followers = new Map<string, Follower>();

onSession((signedIn) => {
  if (signedIn) return;
  for (const follower of followers.values()) follower.close();
  followers.clear();
});

// beginRun starts a run and follows it. onStart gets its id.
export function beginRun(
  input: { agentId: string; message: string; conversationId: string | null },
  onStart: (runId: string) => void,
): Follower {
  const follower = new Follower(null);
  follower.begin(input, (runId) => {
    followers.set(runId, follower);
    onStart(runId);
  });
  return follower;
}

// followRun follows a run from its beginning, or goes on following it.
export function followRun(runId: string): Follower {
  let follower = followers.get(runId);
  if (!follower) {
    follower = new Follower(runId);
    followers.set(runId, follower);
    follower.follow();
  }
  return follower;
}

const nothing = { subscribe: () => () => {}, snapshot: () => first };

// useLiveRun returns what is known of a followed run.
export function useLiveRun(follower: Follower | null): LiveRun {
  const { subscribe, snapshot } = follower ?? nothing;
  return useSyncExternalStore(subscribe, snapshot);
}

export type { Follower };

import { useEach } from '../../api/live';
import { useSoon } from '../../kit/useSoon';
import { followRun } from './liveRun';

const pause = 500; // milliseconds between a turn and reading the list again

// useRunTurns follows the person's runs that go on, and reads a list again when one waits, goes on or ends.
export function useRunTurns(open: string[], reload: () => void) {
  const readSoon = useSoon(reload, pause);
  useEach(open, (id) => {
    const follower = followRun(id);
    let { phase } = follower.snapshot().state;
    return follower.subscribe(() => {
      const { state } = follower.snapshot();
      if (state.phase === phase) return;
      phase = state.phase;
      readSoon();
    });
  });
}

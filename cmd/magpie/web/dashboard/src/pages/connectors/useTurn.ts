import { useEffect, useRef } from 'react';

// useTurn calls reload when the turn changes, not the first time.
export function useTurn(turn: string, reload: () => void) {
  const last = useRef(turn);
  const latest = useRef(reload);
  latest.current = reload;
  useEffect(() => {
    if (last.current !== turn) latest.current();
    last.current = turn;
  }, [turn]);
}

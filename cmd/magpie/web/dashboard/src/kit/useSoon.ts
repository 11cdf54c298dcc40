import { useCallback, useEffect, useRef } from 'react';

// useSoon returns a function that calls run once, so many milliseconds after the first of several calls.
export function useSoon(run: () => void, pause: number): () => void {
  const latest = useRef(run);
  latest.current = run;
  const timer = useRef<number | null>(null);
  useEffect(
    () => () => {
      if (timer.current !== null) window.clearTimeout(timer.current);
      timer.current = null;
    },
    [],
  );
  return useCallback(() => {
    timer.current ??= window.setTimeout(() => {
      timer.current = null;
      latest.current();
    }, pause);
  }, [pause]);
}

// useWhileVisible calls run every so many milliseconds while the window is in view, and when it comes into view again. It is
// for what no subscription tells.
export function useWhileVisible(run: () => void, pause: number) {
  const latest = useRef(run);
  latest.current = run;
  useEffect(() => {
    const look = () => {
      if (document.visibilityState === 'visible') latest.current();
    };
    const timer = window.setInterval(look, pause);
    document.addEventListener('visibilitychange', look);
    return () => {
      window.clearInterval(timer);
      document.removeEventListener('visibilitychange', look);
    };
  }, [pause]);
}

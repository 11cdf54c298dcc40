import { useNavigate, useRouterState } from '@tanstack/react-router';
import { useEffect, useState } from 'react';

declare module '@tanstack/react-router' {
  interface HistoryState {
    fragment?: string;
  }
}

// useFragment returns the values of the address's fragment, and removes them from the address, since they are secrets. They
// stay in the entry of the browser's history, so that the page can be reloaded.
export function useFragment(): URLSearchParams {
  const navigate = useNavigate();
  const location = useRouterState({ select: (state) => state.location });
  const [fragment] = useState(() => location.hash || location.state.fragment || '');
  const { hash } = location;
  useEffect(() => {
    if (hash) void navigate({ to: '.', search: true, hash: '', replace: true, state: { fragment: hash } });
  }, [hash, navigate]);
  return new URLSearchParams(fragment);
}

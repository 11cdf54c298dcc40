import { Tooltip } from '@mantine/core';
import { useEffect, useState } from 'react';
import { formatAgo, formatTime } from '../i18n';

const listeners = new Set<() => void>();
window.setInterval(() => {
  for (const listener of listeners) listener();
}, 30_000);

// Ago shows how long ago a time was, which stays true while the page is open, and the
// time itself on request.
export function Ago({ at }: { at: string }) {
  const [, again] = useState(0);
  useEffect(() => {
    const listener = () => again((n) => n + 1);
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
    };
  }, []);
  return (
    <Tooltip label={formatTime(at)}>
      <time dateTime={at}>{formatAgo(at)}</time>
    </Tooltip>
  );
}

// When shows a time, or a dash without one.
export function When({ at }: { at: string | null | undefined }) {
  return at ? <Ago at={at} /> : <>–</>;
}

import { Badge } from '@mantine/core';
import { useEffect, useState } from 'react';
import { formatDuration, t } from '../../i18n';

// Countdown shows how long something is open.
export function Countdown({ until }: { until: string }) {
  const [now, setNow] = useState(Date.now);
  const left = Math.max(0, Math.floor((new Date(until).getTime() - now) / 1000));
  const isShort = left < 3600;
  useEffect(() => {
    const timer = window.setInterval(() => setNow(Date.now()), isShort ? 1000 : 30_000);
    return () => window.clearInterval(timer);
  }, [isShort]);
  return (
    <Badge variant="light" color={left < 600 ? 'red' : 'gray'} tt="none" role="timer" style={{ flex: 'none' }}>
      {left === 0 ? t('agents.approval.expired') : t('agents.approval.expiresIn', { time: formatDuration(left) })}
    </Badge>
  );
}

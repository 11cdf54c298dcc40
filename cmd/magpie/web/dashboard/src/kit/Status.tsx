import { Badge, type MantineColor } from '@mantine/core';
import { tValue } from '../i18n';

const colors: Record<string, MantineColor> = {
  good: 'green',
  busy: 'blue',
  warn: 'yellow',
  bad: 'red',
  off: 'gray',
};

const kinds: Record<string, keyof typeof colors> = {
  ACTIVE: 'good',
  INDEXED: 'good',
  COMPLETED: 'good',
  ACCEPTED: 'good',
  APPROVED: 'good',
  ANSWERED: 'good',
  DONE: 'good',
  SUCCEEDED: 'good',
  SYNCED: 'good',
  DELIVERED: 'good',
  EDITED: 'good',
  IDLE: 'good',
  PROCESSED: 'good',
  QUEUED: 'busy',
  RUNNING: 'busy',
  SYNCING: 'busy',
  PROCESSING: 'busy',
  PENDING: 'busy',
  WAITING: 'busy',
  CONNECTING: 'busy',
  RECEIVED: 'busy',
  PARTIAL: 'warn',
  EXPIRED: 'warn',
  PAUSED: 'warn',
  NEEDS_AUTH: 'warn',
  SKIPPED: 'warn',
  DELEGATED: 'warn',
  MISSED: 'warn',
  FAILED: 'bad',
  ERROR: 'bad',
  REVOKED: 'bad',
  REJECTED: 'bad',
  DROPPED: 'bad',
};

// Status shows a value of one of the schema's enumerations of states, with its name in
// the person's language (common.status.NAME).
export function Status({ value }: { value: string }) {
  return (
    <Badge variant="light" color={colors[kinds[value] ?? 'off']} tt="none" style={{ flex: 'none' }}>
      {tValue(`common.status.${value}`, value.toLowerCase().replaceAll('_', ' '))}
    </Badge>
  );
}

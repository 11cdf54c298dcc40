import { Group, SegmentedControl, Select, Stack, Text } from '@mantine/core';
import { useId } from 'react';
import type { ConnectorSyncStrategy } from '../../../gql/schema';
import { t } from '../../../i18n';

export interface Schedule {
  syncStrategy: ConnectorSyncStrategy;
  scheduleInterval: string;
}

const intervals = ['15m', '30m', '1h', '2h', '4h', '6h', '12h', '24h'] as const;

// ScheduleFields is the choice between syncs by hand and syncs at an interval.
export function ScheduleFields({
  schedule,
  onChange,
  error,
}: {
  schedule: Schedule;
  onChange: (schedule: Schedule) => void;
  error?: string;
}) {
  const id = useId();
  const isScheduled = schedule.syncStrategy === 'SCHEDULED';
  return (
    <Stack gap={4}>
      <Text size="sm" fw={500} id={id}>
        {t('connectors.schedule')}
      </Text>
      <Group align="flex-end" gap="sm">
        <SegmentedControl
          aria-labelledby={id}
          value={schedule.syncStrategy}
          onChange={(syncStrategy) => onChange({ ...schedule, syncStrategy })}
          data={[
            { value: 'MANUAL', label: t('connectors.schedule.manual') },
            { value: 'SCHEDULED', label: t('connectors.schedule.scheduled') },
          ]}
        />
        {isScheduled && (
          <Select
            aria-label={t('connectors.schedule.interval')}
            data={intervals.map((interval) => ({ value: interval, label: t(`connectors.interval.${interval}`) }))}
            value={schedule.scheduleInterval}
            onChange={(interval) => interval && onChange({ ...schedule, scheduleInterval: interval })}
            allowDeselect={false}
            error={error}
          />
        )}
      </Group>
    </Stack>
  );
}

// scheduleText says a schedule in words.
export function scheduleText({ syncStrategy, scheduleInterval }: Schedule): string {
  const interval = intervals.find((one) => one === scheduleInterval);
  if (syncStrategy !== 'SCHEDULED') return t('connectors.schedule.manual');
  return interval ? t(`connectors.interval.${interval}`) : scheduleInterval;
}

import { Group, SegmentedControl, Select, Stack, Text } from '@mantine/core';
import { useId } from 'react';
import { t } from '../../../i18n';

export interface Schedule {
  syncStrategy: string;
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
  const isScheduled = schedule.syncStrategy === 'scheduled';
  return (
    <Stack gap={4}>
      <Text size="sm" fw={500} id={id}>
        {t('connectors.schedule')}
      </Text>
      <Group align="flex-end" gap="sm">
        <SegmentedControl
          aria-labelledby={id}
          value={isScheduled ? 'scheduled' : 'manual'}
          onChange={(syncStrategy) => onChange({ ...schedule, syncStrategy })}
          data={[
            { value: 'manual', label: t('connectors.schedule.manual') },
            { value: 'scheduled', label: t('connectors.schedule.scheduled') },
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
  if (syncStrategy !== 'scheduled') return t('connectors.schedule.manual');
  return interval ? t(`connectors.interval.${interval}`) : scheduleInterval;
}

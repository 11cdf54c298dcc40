import { Paper, Stack, Text, ThemeIcon } from '@mantine/core';
import type { ReactNode } from 'react';
import { Icon, type IconName } from './Icon';

// Empty stands where a list has nothing, and says what to do.
export function Empty({ icon, title, children, action }: { icon: IconName; title: string; children?: ReactNode; action?: ReactNode }) {
  return (
    <Paper p="xl" ta="center">
      <Stack align="center" gap="xs">
        <ThemeIcon variant="light" size="xl" radius="xl">
          <Icon name={icon} size={22} />
        </ThemeIcon>
        <Text fw={600}>{title}</Text>
        {children && (
          <Text c="dimmed" size="sm" maw="36rem">
            {children}
          </Text>
        )}
        {action}
      </Stack>
    </Paper>
  );
}

import { Button, Group, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { t } from '../../../i18n';

// offerUndo tells that something has happened, with a button that takes it back.
export function offerUndo(message: string, undo: () => void) {
  const id = notifications.show({
    message: (
      <Group justify="space-between" wrap="nowrap">
        <Text size="sm" className="wrap">
          {message}
        </Text>
        <Button
          size="compact-sm"
          variant="default"
          onClick={() => {
            notifications.hide(id);
            undo();
          }}
        >
          {t('search.doc.undo')}
        </Button>
      </Group>
    ),
    color: 'green',
    autoClose: 15_000,
    closeButtonProps: { 'aria-label': t('common.close') },
  });
}

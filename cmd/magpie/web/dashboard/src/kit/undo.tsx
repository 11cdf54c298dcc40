import { Button, Group, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { t } from '../i18n';

// offerUndo tells that something has happened, with a button that takes it back. kept is called when the offer ends without
// that. It returns a function that ends the offer.
export function offerUndo(message: string, undo: () => void, kept?: () => void): () => void {
  let isOpen = true;
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
            isOpen = false;
            notifications.hide(id);
            undo();
          }}
        >
          {t('common.undo')}
        </Button>
      </Group>
    ),
    color: 'green',
    autoClose: 15_000,
    closeButtonProps: { 'aria-label': t('common.close') },
    onClose: () => {
      if (isOpen) kept?.();
      isOpen = false;
    },
  });
  return () => {
    notifications.hide(id);
  };
}

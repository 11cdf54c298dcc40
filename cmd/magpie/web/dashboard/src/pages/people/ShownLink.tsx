import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { formatTime, t } from '../../i18n';
import { ShownOnce } from '../../kit/Copy';

interface Props {
  title: string;
  // Null while there is no link to show.
  url: string | null;
  expiresAt: string | null;
  help: string;
  onClose: () => void;
}

// ShownLink shows a link that works once, to pass on to a person.
export function ShownLink({ title, url, expiresAt, help, onClose }: Props) {
  return (
    <Modal
      opened={url !== null}
      onClose={onClose}
      title={title}
      size="lg"
      closeOnClickOutside={false}
      closeButtonProps={{ 'aria-label': t('common.close') }}
    >
      <Stack>
        <Text size="sm">{help}</Text>
        {url && <ShownOnce values={[{ label: t('people.link'), value: url }]} />}
        {expiresAt && (
          <Text size="sm" c="dimmed">
            {t('people.linkUntil', { time: formatTime(expiresAt) })}
          </Text>
        )}
        <Group justify="flex-end">
          <Button onClick={onClose}>{t('people.copiedLink')}</Button>
        </Group>
      </Stack>
    </Modal>
  );
}

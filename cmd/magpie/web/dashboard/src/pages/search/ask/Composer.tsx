import { Button, Group, Stack, Textarea } from '@mantine/core';
import { useState } from 'react';
import { t } from '../../../i18n';
import { Icon } from '../../../kit/Icon';
import { CollectionSelect } from '../CollectionSelect';

interface Props {
  // Whether an answer is being written: then the button stops it.
  busy: boolean;
  // A conversation stays in the collection in which it began.
  canChoose: boolean;
  collection: string | undefined;
  onCollection: (id: string | undefined) => void;
  onAsk: (message: string) => void;
  onStop: () => void;
}

const most = 4000; // characters of a question

// Composer is the field of a question. Enter asks, Shift and Enter begin another line.
export function Composer({ busy, canChoose, collection, onCollection, onAsk, onStop }: Props) {
  const [message, setMessage] = useState('');
  const send = () => {
    if (busy || message.trim() === '') return;
    onAsk(message.trim());
    setMessage('');
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
      style={{ position: 'sticky', bottom: 0, background: 'var(--mantine-color-body)', paddingBlock: 8, zIndex: 2 }}
    >
      <Stack gap="xs">
        <Textarea
          autoFocus
          autosize
          minRows={1}
          maxRows={8}
          size="md"
          maxLength={most}
          aria-label={t('search.ask.question')}
          placeholder={t('search.ask.placeholder')}
          value={message}
          onChange={(event) => setMessage(event.currentTarget.value.trimStart())}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && !event.shiftKey && !event.nativeEvent.isComposing) {
              event.preventDefault();
              send();
            }
          }}
        />
        <Group justify="space-between" gap="xs">
          {canChoose ? <CollectionSelect value={collection} onChange={onCollection} size="xs" w={200} /> : <span />}
          {busy ? (
            <Button variant="default" leftSection={<Icon name="stop" size={16} />} onClick={onStop}>
              {t('search.ask.stop')}
            </Button>
          ) : (
            <Button type="submit" disabled={message.trim() === ''}>
              {t('search.ask.go')}
            </Button>
          )}
        </Group>
      </Stack>
    </form>
  );
}

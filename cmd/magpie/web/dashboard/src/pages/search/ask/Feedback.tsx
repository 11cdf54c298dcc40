import { ActionIcon, Button, Group, Modal, Radio, Stack, Textarea, Tooltip } from '@mantine/core';
import { useState } from 'react';
import type { FeedbackReason, Rating } from '../../../gql/schema';
import { t } from '../../../i18n';
import { Icon } from '../../../kit/Icon';
import { useAction } from '../../../kit/useAction';
import { AskRemoveFeedbackDocument, AskSetFeedbackDocument } from './ask.gql';
import type { Message } from './useConversation';

interface Props {
  message: Message;
  conversationId: string;
  onChange: (feedback: Message['feedback']) => void;
}

const reasons: FeedbackReason[] = ['IRRELEVANT', 'OUTDATED', 'INCORRECT', 'INCOMPLETE', 'OTHER'];

// Feedback rates an answer. A second press of the same thumb takes the rating back.
export function Feedback({ message, conversationId, onChange }: Props) {
  const [form, setForm] = useState<Rating | null>(null);
  const set = useAction(AskSetFeedbackDocument, { success: t('search.ask.thanks') });
  const remove = useAction(AskRemoveFeedbackDocument);
  const rating = message.feedback?.rating;
  const rate = async (next: Rating, reason: FeedbackReason | null, comment: string) => {
    const input = { rating: next, reason, comment: comment.trim() || null };
    const data = await set.run({ messageId: message.id, conversationId, input });
    if (!data) return;
    onChange(data.setFeedback);
    setForm(null);
  };
  const press = async (next: Rating) => {
    if (rating === next) {
      if (await remove.run({ messageId: message.id, conversationId })) onChange(null);
    } else if (next === 'NEGATIVE') setForm(next);
    else void rate(next, null, '');
  };
  const thumb = (value: Rating, label: string) => (
    <Tooltip label={label}>
      <ActionIcon
        variant={rating === value ? 'light' : 'subtle'}
        color={rating === value ? undefined : 'gray'}
        aria-pressed={rating === value}
        aria-label={label}
        loading={set.running || remove.running}
        onClick={() => void press(value)}
      >
        <Icon name={value === 'POSITIVE' ? 'thumbUp' : 'thumbDown'} size={16} />
      </ActionIcon>
    </Tooltip>
  );
  return (
    <>
      {thumb('POSITIVE', t('search.ask.good'))}
      {thumb('NEGATIVE', t('search.ask.bad'))}
      {rating && (
        <Button size="compact-xs" variant="subtle" onClick={() => setForm(rating)}>
          {message.feedback?.comment ? t('search.ask.editComment') : t('search.ask.addComment')}
        </Button>
      )}
      <Modal
        opened={form !== null}
        onClose={() => setForm(null)}
        title={t('search.ask.feedback')}
        closeButtonProps={{ 'aria-label': t('common.close') }}
      >
        {form && <FeedbackForm rating={form} given={message.feedback} running={set.running} onSave={rate} onCancel={() => setForm(null)} />}
      </Modal>
    </>
  );
}

interface FormProps {
  rating: Rating;
  given: Message['feedback'];
  running: boolean;
  onSave: (rating: Rating, reason: FeedbackReason | null, comment: string) => void;
  onCancel: () => void;
}

function FeedbackForm({ rating, given, running, onSave, onCancel }: FormProps) {
  const [reason, setReason] = useState<FeedbackReason | null>(given?.reason ?? null);
  const [comment, setComment] = useState(given?.comment ?? '');
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onSave(rating, reason, comment);
      }}
    >
      <Stack>
        {rating === 'NEGATIVE' && (
          <Radio.Group label={t('search.ask.reason')} value={reason ?? ''} onChange={(value) => setReason(value as FeedbackReason)}>
            <Stack gap="xs" mt="xs">
              {reasons.map((value) => (
                <Radio key={value} value={value} label={t(`search.ask.reason.${value as 'OTHER'}`)} />
              ))}
            </Stack>
          </Radio.Group>
        )}
        <Textarea
          label={t('search.ask.comment')}
          value={comment}
          maxLength={500}
          autosize
          minRows={2}
          onChange={(event) => setComment(event.currentTarget.value)}
        />
        <Group justify="flex-end">
          <Button variant="default" onClick={onCancel}>
            {t('common.cancel')}
          </Button>
          <Button type="submit" loading={running}>
            {t('common.save')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

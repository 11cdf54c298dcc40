import { Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { type ReactNode, useEffect, useState } from 'react';
import { t } from '../i18n';

interface Question {
  title: string;
  body: ReactNode;
  // The words on the button.
  action: string;
  // What has to be typed first, such as the name of what is deleted.
  typed?: string;
  // Whether it destroys something; true unless said otherwise.
  destructive?: boolean;
}

let ask: ((question: Question) => Promise<boolean>) | null = null;

// confirm asks a person before something happens that cannot be undone.
export function confirm(question: Question): Promise<boolean> {
  return ask ? ask(question) : Promise.resolve(false);
}

// Confirmations shows the questions of confirm. The shell has one.
export function Confirmations() {
  const [open, setOpen] = useState<{ question: Question; answer: (yes: boolean) => void } | null>(null);
  const [typed, setTyped] = useState('');
  useEffect(() => {
    ask = (question) =>
      new Promise((resolve) => {
        setTyped('');
        setOpen({ question, answer: resolve });
      });
    return () => {
      ask = null;
    };
  }, []);
  const close = (yes: boolean) => {
    open?.answer(yes);
    setOpen(null);
  };
  const question = open?.question;
  return (
    <Modal
      opened={open !== null}
      onClose={() => close(false)}
      title={question?.title}
      closeButtonProps={{ 'aria-label': t('common.close') }}
    >
      {question && (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            close(true);
          }}
        >
          <Stack>
            <Text size="sm" component="div" className="wrap">
              {question.body}
            </Text>
            {question.typed !== undefined && (
              <TextInput
                label={t('common.typeToConfirm', { text: question.typed })}
                value={typed}
                onChange={(event) => setTyped(event.currentTarget.value)}
                autoComplete="off"
                data-autofocus
              />
            )}
            <Group justify="flex-end">
              <Button variant="default" onClick={() => close(false)}>
                {t('common.cancel')}
              </Button>
              <Button
                type="submit"
                color={question.destructive === false ? undefined : 'red.8'}
                disabled={question.typed !== undefined && typed !== question.typed}
              >
                {question.action}
              </Button>
            </Group>
          </Stack>
        </form>
      )}
    </Modal>
  );
}

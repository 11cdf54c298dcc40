import { Button, Group, Stack } from '@mantine/core';
import { type FormEvent, useRef, useState } from 'react';
import { problemOf } from '../../api/errors';
import { t } from '../../i18n';
import { ProblemNotice } from '../../kit/Problem';
import { useAction } from '../../kit/useAction';
import { KeyForm } from './KeyForm';
import { created, type KeyDraft, newDraft } from './keyDraft';
import { KeysCreateDocument, type KeysCreateMutation } from './keys.gql';
import { useErrorFocus } from './useErrorFocus';

interface Props {
  onCreated: (key: KeysCreateMutation['createAPIKey']) => void;
  onCancel: () => void;
  // What the form begins with, in place of the usual.
  start?: Partial<KeyDraft>;
}

// CreateKey is the form of a new pair of keys.
export function CreateKey({ onCreated, onCancel, start }: Props) {
  const [draft, setDraft] = useState<KeyDraft>(() => ({ ...newDraft(), ...start }));
  const create = useAction(KeysCreateDocument, { quiet: true });
  const form = useRef<HTMLFormElement>(null);
  useErrorFocus(form, create.error);
  const problem = create.error ? problemOf(create.error) : null;
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const data = await create.run({ input: created(draft) });
    if (data) onCreated(data.createAPIKey);
  };
  return (
    <form ref={form} onSubmit={submit}>
      <Stack>
        {create.error && <ProblemNotice error={create.error} />}
        <KeyForm draft={draft} onChange={setDraft} problem={problem} />
        <Group justify="flex-end">
          <Button variant="default" onClick={onCancel}>
            {t('common.cancel')}
          </Button>
          <Button type="submit" loading={create.running}>
            {t('people.keys.create')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

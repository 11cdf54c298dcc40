import { Button, Group, Modal, Stack, Textarea, TextInput } from '@mantine/core';
import { type FormEvent, useRef, useState } from 'react';
import { t } from '../../i18n';
import { fieldError, useFirstError } from '../../kit/formErrors';
import { ProblemNotice } from '../../kit/Problem';
import { useAction } from '../../kit/useAction';
import { AgentsCreateTemplateDocument, AgentsUpdateTemplateDocument, type AgentTemplateFieldsFragment } from './agents.gql';
import { PromptField } from './PromptField';
import { ToolPicker } from './ToolPicker';

interface Props {
  // The template to change; null for a new one.
  template: AgentTemplateFieldsFragment | null;
  // The agent that a new template is made from.
  from?: { id: string; name: string; description?: string | null; systemPrompt: string; tools: string[]; startMessage?: string | null };
  close: (saved: boolean) => void;
}

// TemplateForm makes or changes a template of the workspace.
export function TemplateForm({ template, from, close }: Props) {
  const start = template ?? from;
  const [name, setName] = useState(start?.name ?? '');
  const [description, setDescription] = useState(start?.description ?? '');
  const [category, setCategory] = useState(template?.category ?? '');
  const [systemPrompt, setSystemPrompt] = useState(start?.systemPrompt ?? '');
  const [tools, setTools] = useState(start?.tools ?? []);
  const [startMessage, setStartMessage] = useState(start?.startMessage ?? '');
  const create = useAction(AgentsCreateTemplateDocument, { success: t('common.saved'), quiet: true });
  const update = useAction(AgentsUpdateTemplateDocument, { success: t('common.saved'), quiet: true });
  const error = create.error ?? update.error;
  const form = useRef<HTMLFormElement>(null);
  useFirstError(form, error);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const fields = { name, systemPrompt, tools, startMessage: startMessage || null };
    const saved = template
      ? await update.run({ id: template.id, input: { ...fields, description: description || null, category: category || undefined } })
      : await create.run({
          input: { ...fields, description, startMessage: startMessage || undefined, category: category || undefined, fromAgent: from?.id },
        });
    if (saved) close(true);
  };
  return (
    <Modal
      opened
      onClose={() => close(false)}
      size="lg"
      title={template ? t('agents.template.edit') : t('agents.template.new')}
      closeButtonProps={{ 'aria-label': t('common.close') }}
    >
      <form ref={form} onSubmit={submit}>
        <Stack gap="sm">
          {error && <ProblemNotice error={error} />}
          <TextInput
            label={t('common.name')}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            required
            maxLength={200}
            error={fieldError(error, 'name')}
            data-autofocus
          />
          <Textarea
            label={t('common.description')}
            value={description}
            onChange={(event) => setDescription(event.currentTarget.value)}
            maxLength={4000}
            autosize
            minRows={2}
            error={fieldError(error, 'description')}
          />
          <TextInput
            label={t('agents.template.category')}
            description={t('agents.template.categoryHelp')}
            value={category}
            onChange={(event) => setCategory(event.currentTarget.value)}
            maxLength={100}
            error={fieldError(error, 'category')}
          />
          <PromptField value={systemPrompt} onChange={setSystemPrompt} error={fieldError(error, 'systemPrompt')} />
          <ToolPicker value={tools} onChange={setTools} error={fieldError(error, 'tools')} />
          <Textarea
            label={t('agents.greeting')}
            description={t('agents.greetingHelp')}
            value={startMessage}
            onChange={(event) => setStartMessage(event.currentTarget.value)}
            maxLength={4000}
            autosize
            minRows={2}
            error={fieldError(error, 'startMessage')}
          />
          <Group justify="flex-end">
            <Button variant="default" onClick={() => close(false)}>
              {t('common.cancel')}
            </Button>
            <Button type="submit" loading={create.running || update.running}>
              {t('common.save')}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

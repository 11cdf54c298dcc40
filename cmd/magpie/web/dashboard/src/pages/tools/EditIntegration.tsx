import { Button, Group, Modal, Select, Stack, TextInput } from '@mantine/core';
import { type FormEvent, useRef, useState } from 'react';
import { useQuery } from 'urql';
import type { ToolIntegrationCredentialsOf } from '../../gql/schema';
import { t } from '../../i18n';
import { fieldError, useFirstError } from '../../kit/formErrors';
import { OptionForm } from '../../kit/OptionForm';
import { submitted, type Values } from '../../kit/options';
import { ProblemNotice } from '../../kit/Problem';
import { useAction } from '../../kit/useAction';
import { useMay } from '../../session/Me';
import type { Integration } from './IntegrationPage';
import { ToolsProvidersDocument, ToolsUpdateDocument } from './integrations.gql';
import { optionProblem } from './NewIntegrationPage';

// EditIntegration changes the name and the settings of an integration.
export function EditIntegration({ integration, close }: { integration: Integration; close: (saved: boolean) => void }) {
  const isAdmin = useMay('ADMIN');
  const [{ data }] = useQuery({ query: ToolsProvidersDocument, requestPolicy: 'cache-first' });
  const provider = data?.toolProviders.find(({ name }) => name === integration.provider);
  const [name, setName] = useState(integration.name);
  const [of, setOf] = useState<ToolIntegrationCredentialsOf>(integration.credentialsOf);
  const [config, setConfig] = useState<Values>(integration.config);
  const update = useAction(ToolsUpdateDocument, { success: t('common.saved'), quiet: true });
  const form = useRef<HTMLFormElement>(null);
  useFirstError(form, update.error);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const input = {
      name,
      config: provider ? submitted(provider.options, config, integration.config) : undefined,
      credentialsOf: of === integration.credentialsOf ? undefined : of,
    };
    if (await update.run({ id: integration.id, input })) close(true);
  };
  return (
    <Modal opened onClose={() => close(false)} size="lg" title={t('common.edit')} closeButtonProps={{ 'aria-label': t('common.close') }}>
      <form ref={form} onSubmit={submit} noValidate>
        <Stack>
          {update.error && <ProblemNotice error={update.error} />}
          <TextInput
            label={t('common.name')}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            required
            error={fieldError(update.error, 'name')}
            data-autofocus
          />
          {integration.ownerScope === 'WORKSPACE' && (
            <Select
              label={t('tools.credentialsOf')}
              description={isAdmin ? undefined : t('tools.credentialsAdmins')}
              disabled={!isAdmin}
              data={(['PERSON', 'SHARED'] as const).map((value) => ({ value, label: t(`tools.credentialsOf.${value}`) }))}
              value={of}
              onChange={(next) => setOf((next as ToolIntegrationCredentialsOf | null) ?? 'PERSON')}
              allowDeselect={false}
            />
          )}
          {provider && (
            <OptionForm table={provider.options} values={config} onChange={setConfig} problem={optionProblem(update.error, 'config')} />
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={() => close(false)}>
              {t('common.cancel')}
            </Button>
            <Button type="submit" loading={update.running}>
              {t('common.save')}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

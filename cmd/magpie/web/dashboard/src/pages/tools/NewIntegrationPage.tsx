import { Alert, Button, Group, Loader, Radio, Stack, TextInput } from '@mantine/core';
import { getRouteApi } from '@tanstack/react-router';
import { type FormEvent, useRef, useState } from 'react';
import { useQuery } from 'urql';
import { problemOf } from '../../api/errors';
import type { ToolIntegrationCredentialsOf, ToolIntegrationOwnerScope } from '../../gql/schema';
import { t, tValue } from '../../i18n';
import { fieldError, useFirstError } from '../../kit/formErrors';
import { OptionForm } from '../../kit/OptionForm';
import { type Mistakes, mistakes, submitted, type Values } from '../../kit/options';
import { Page } from '../../kit/Page';
import { ProblemNotice } from '../../kit/Problem';
import { useAction } from '../../kit/useAction';
import { useMay } from '../../session/Me';
import { Gallery } from './Gallery';
import { ToolsCreateDocument, ToolsProvidersDocument, type ToolsProvidersQuery } from './integrations.gql';

const route = getRouteApi('/shell/integrations/new');

export type Provider = ToolsProvidersQuery['toolProviders'][number];

// optionProblem returns what the service said about an option of config or credentials, by the option's path.
export function optionProblem(error: unknown, part: 'config' | 'credentials'): { field: string; message: string } | null {
  if (!error) return null;
  const { field, message } = problemOf(error);
  return field?.startsWith(`${part}.`) ? { field: field.slice(part.length + 1), message } : null;
}

// NewIntegrationPage connects a system: first the provider is chosen, then its settings.
export function NewIntegrationPage() {
  const { provider: name } = route.useSearch();
  const navigate = route.useNavigate();
  const [{ data, error }] = useQuery({ query: ToolsProvidersDocument, requestPolicy: 'cache-first' });
  const provider = data?.toolProviders.find((one) => one.name === name);
  const above = [{ label: t('tools.title'), to: '/integrations' }];
  return (
    <Page title={provider ? provider.title : t('tools.new')} description={provider?.summary} above={above} narrow={provider !== undefined}>
      {error && !data && <ProblemNotice error={error} />}
      {!data && !error && <Loader role="status" aria-label={t('common.loading')} />}
      {data && !provider && (
        <Gallery
          choices={data.toolProviders.map(({ name: one, title, summary, group, tools }) => ({
            name: one,
            title,
            summary,
            group: tValue(`tools.group.${group}`, group),
            note: tools.length > 0 ? t('tools.toolCount', { count: tools.length }) : undefined,
          }))}
          onChoose={(one) => void navigate({ search: { provider: one } })}
        />
      )}
      {provider && <NewForm key={provider.name} provider={provider} />}
    </Page>
  );
}

function NewForm({ provider }: { provider: Provider }) {
  const isEditor = useMay('EDITOR');
  const isAdmin = useMay('ADMIN');
  const navigate = route.useNavigate();
  const [name, setName] = useState(provider.title);
  const [slug, setSlug] = useState('');
  const [scope, setScope] = useState<ToolIntegrationOwnerScope>(isEditor ? 'WORKSPACE' : 'PERSONAL');
  const [of, setOf] = useState<ToolIntegrationCredentialsOf>('PERSON');
  const [config, setConfig] = useState<Values>({});
  const [credentials, setCredentials] = useState<Values>({});
  const [wrong, setWrong] = useState<Mistakes>({});
  const create = useAction(ToolsCreateDocument, { success: t('common.saved'), quiet: true });
  const form = useRef<HTMLFormElement>(null);
  useFirstError(form, create.error ?? (Object.keys(wrong).length > 0 ? wrong : null));
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const found = mistakes(provider.options, config);
    setWrong(found);
    if (Object.keys(found).length > 0) return;
    const secrets = submitted(provider.credentials, credentials);
    const data = await create.run({
      input: {
        provider: provider.name,
        name,
        slug: slug || null,
        ownerScope: scope,
        credentialsOf: of,
        config: submitted(provider.options, config),
        credentials: Object.keys(secrets).length > 0 ? secrets : null,
      },
    });
    if (data) await navigate({ to: `/integrations/${data.createToolIntegration.id}` });
  };
  return (
    <form ref={form} onSubmit={submit} noValidate>
      <Stack>
        {create.error && <ProblemNotice error={create.error} />}
        <TextInput
          label={t('common.name')}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          required
          maxLength={200}
          error={fieldError(create.error, 'name')}
        />
        <TextInput
          label={t('tools.slug')}
          description={t('tools.slugHelp', { slug: slug || provider.name })}
          value={slug}
          placeholder={provider.name}
          onChange={(event) => setSlug(event.currentTarget.value)}
          error={fieldError(create.error, 'slug')}
        />
        <Radio.Group label={t('tools.scope')} value={scope} onChange={(next) => setScope(next as ToolIntegrationOwnerScope)}>
          <Stack gap={6} mt={4}>
            <Radio
              value="WORKSPACE"
              disabled={!isEditor}
              label={t('tools.scope.WORKSPACE')}
              description={isEditor ? t('tools.scopeHelp.WORKSPACE') : t('tools.scopeEditors')}
            />
            <Radio value="PERSONAL" label={t('tools.scope.PERSONAL')} description={t('tools.scopeHelp.PERSONAL')} />
          </Stack>
        </Radio.Group>
        {scope === 'WORKSPACE' && (
          <Radio.Group label={t('tools.credentialsOf')} value={of} onChange={(next) => setOf(next as ToolIntegrationCredentialsOf)}>
            <Stack gap={6} mt={4}>
              <Radio value="PERSON" label={t('tools.credentialsOf.PERSON')} description={t('tools.credentialsHelp.PERSON')} />
              <Radio
                value="SHARED"
                disabled={!isAdmin}
                label={t('tools.credentialsOf.SHARED')}
                description={isAdmin ? t('tools.credentialsHelp.SHARED') : t('tools.credentialsAdmins')}
              />
            </Stack>
          </Radio.Group>
        )}
        <OptionForm
          table={provider.options}
          values={config}
          onChange={setConfig}
          mistakes={wrong}
          problem={optionProblem(create.error, 'config')}
        />
        {provider.oauth && <Alert variant="light">{t('tools.oauthLater')}</Alert>}
        {provider.credentials.length > 0 && (
          <OptionForm
            table={provider.credentials.map((option) => ({ ...option, required: false }))}
            values={credentials}
            onChange={setCredentials}
            problem={optionProblem(create.error, 'credentials')}
          />
        )}
        <Group>
          <Button type="submit" loading={create.running}>
            {t('common.create')}
          </Button>
          <Button variant="default" onClick={() => void navigate({ search: {} })}>
            {t('common.back')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

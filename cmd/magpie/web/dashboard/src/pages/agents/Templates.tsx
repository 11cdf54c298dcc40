import { Badge, Button, Group, Loader, Menu, Paper, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { t, tValue } from '../../i18n';
import { confirm } from '../../kit/confirm';
import { Empty } from '../../kit/Empty';
import { FilterText } from '../../kit/FilterText';
import { Icon } from '../../kit/Icon';
import { ButtonLink } from '../../kit/links';
import { ProblemNotice } from '../../kit/Problem';
import { useAction } from '../../kit/useAction';
import { usePaged } from '../../kit/usePaged';
import { useMay } from '../../session/Me';
import { AgentsDeleteTemplateDocument, AgentsTemplatesDocument, type AgentTemplateFieldsFragment } from './agents.gql';
import { TemplateForm } from './TemplateForm';

const route = getRouteApi('/shell/agents');

// Templates is the gallery of templates of agents, the built-in ones and the workspace's own.
export function Templates() {
  const isEditor = useMay('EDITOR');
  const { q = '' } = route.useSearch();
  const navigate = route.useNavigate();
  // The template in the form; 'new' for one from scratch.
  const [form, setForm] = useState<AgentTemplateFieldsFragment | 'new' | null>(null);
  const list = usePaged(AgentsTemplatesDocument, {}, (data) => data.agentTemplates, { pageSize: 100 });
  const remove = useAction(AgentsDeleteTemplateDocument, { success: t('common.deleted') });
  const wanted = q.toLocaleLowerCase();
  const shown = list.rows.filter((template) =>
    [template.name, template.description, template.category].some((part) => part.toLocaleLowerCase().includes(wanted)),
  );
  if (list.error && list.rows.length === 0) return <ProblemNotice error={list.error} retry={list.reload} />;
  if (list.loading) return <Loader role="status" aria-label={t('common.loading')} />;
  const del = async (template: AgentTemplateFieldsFragment) => {
    const sure = await confirm({
      title: t('agents.template.delete'),
      body: t('agents.template.deleteHelp'),
      action: t('common.delete'),
      typed: template.name,
    });
    if (sure && (await remove.run({ id: template.id }))) list.reload();
  };
  return (
    <Stack>
      <Group justify="space-between" align="flex-end">
        <FilterText
          label={t('agents.template.find')}
          value={q}
          onChange={(next) => void navigate({ search: (old) => ({ ...old, q: next }), replace: true })}
        />
        {isEditor && (
          <Button variant="default" onClick={() => setForm('new')} leftSection={<Icon name="plus" size={16} />}>
            {t('agents.template.new')}
          </Button>
        )}
      </Group>
      {shown.length === 0 && <Empty icon="agent" title={t('agents.template.none')} />}
      <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }}>
        {shown.map((template) => (
          <Paper key={template.id} p="md">
            <Stack gap="xs" h="100%">
              <Group justify="space-between" wrap="nowrap" align="flex-start">
                <Title order={2} size="h5" className="wrap">
                  {template.name}
                </Title>
                <Badge variant="default" tt="none" style={{ flex: 'none' }}>
                  {template.builtIn ? tValue(`agents.category.${template.category}`, template.category) : template.category}
                </Badge>
              </Group>
              <Text size="sm" c="dimmed" className="wrap" style={{ flex: 1 }}>
                {template.description}
              </Text>
              <Text size="xs" c="dimmed">
                {t('agents.toolCount', { count: template.tools.length })}
              </Text>
              {isEditor && (
                <Group gap="xs">
                  <ButtonLink
                    to="/agents/new"
                    search={{ template: template.id }}
                    size="xs"
                    variant="light"
                    aria-label={`${t('agents.template.use')}: ${template.name}`}
                  >
                    {t('agents.template.use')}
                  </ButtonLink>
                  {!template.builtIn && (
                    <Menu>
                      <Menu.Target>
                        <Button size="xs" variant="default" aria-label={`${t('common.actions')}: ${template.name}`}>
                          <Icon name="more" size={16} />
                        </Button>
                      </Menu.Target>
                      <Menu.Dropdown>
                        <Menu.Item leftSection={<Icon name="edit" size={16} />} onClick={() => setForm(template)}>
                          {t('common.edit')}
                        </Menu.Item>
                        <Menu.Item leftSection={<Icon name="trash" size={16} />} onClick={() => void del(template)}>
                          {t('common.delete')}
                        </Menu.Item>
                      </Menu.Dropdown>
                    </Menu>
                  )}
                </Group>
              )}
            </Stack>
          </Paper>
        ))}
      </SimpleGrid>
      {form && (
        <TemplateForm
          template={form === 'new' ? null : form}
          close={(saved) => {
            setForm(null);
            if (saved) list.reload();
          }}
        />
      )}
    </Stack>
  );
}

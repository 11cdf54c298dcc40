import { ActionIcon, Badge, Group, Menu, Select, Stack, Text, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import type { Role } from '../../gql/schema';
import { formatDate, t } from '../../i18n';
import { confirm } from '../../kit/confirm';
import { type Column, DataTable } from '../../kit/DataTable';
import { Empty } from '../../kit/Empty';
import { Icon } from '../../kit/Icon';
import { useAction } from '../../kit/useAction';
import { usePaged } from '../../kit/usePaged';
import { useMay, useMe } from '../../session/Me';
import { ChangeRole } from './ChangeRole';
import { type MemberRowFragment, PeopleMembersDocument, PeoplePasswordLinkDocument, PeopleRemoveDocument } from './people.gql';
import { choices, mayManage, roles } from './roles';
import { ShownLink } from './ShownLink';

// Members lists the people of the workspace. Administrators change what their role allows.
export function Members() {
  const me = useMe();
  const isAdmin = useMay('ADMIN');
  const navigate = useNavigate();
  const { text, role } = useSearch({ from: '/shell/people' });
  const list = usePaged(PeopleMembersDocument, { text: text ?? null, role: role ?? null }, (data) => data.members);
  const [changing, setChanging] = useState<MemberRowFragment | null>(null);
  const [link, setLink] = useState<{ url: string; expiresAt: string; name: string } | null>(null);
  const remove = useAction(PeopleRemoveDocument, { success: t('people.removed') });
  const password = useAction(PeoplePasswordLinkDocument);
  const filter = (change: { text?: string; role?: Role }) =>
    void navigate({ to: '/people', search: { text, role, ...change }, replace: true });
  const type = useDebouncedCallback((value: string) => filter({ text: value || undefined }), 300);

  const onRemove = async (member: MemberRowFragment) => {
    const sure = await confirm({
      title: t('people.removeTitle', { name: member.user.name }),
      body: t('people.removeBody'),
      action: t('common.remove'),
      typed: member.user.email,
    });
    if (sure && (await remove.run({ id: member.id }))) list.reload();
  };
  const onPassword = async (member: MemberRowFragment) => {
    const sure = await confirm({
      title: t('people.passwordTitle', { name: member.user.name }),
      body: t('people.passwordBody'),
      action: t('people.passwordMake'),
      destructive: false,
    });
    const data = sure ? await password.run({ memberId: member.id }) : null;
    if (data) setLink({ ...data.createPasswordReset, name: member.user.name });
  };

  const columns: Column<MemberRowFragment>[] = [
    {
      key: 'name',
      title: t('common.name'),
      cell: ({ user, suspendedAt }) => (
        <Stack gap={0}>
          <Group gap={6}>
            <Text size="sm" fw={500} className="wrap">
              {user.name}
            </Text>
            {user.id === me.user.id && (
              <Badge variant="default" tt="none" size="sm">
                {t('people.you')}
              </Badge>
            )}
            {suspendedAt && (
              <Badge
                variant="light"
                color="yellow"
                tt="none"
                size="sm"
                title={t('people.suspendedSince', { time: formatDate(suspendedAt) })}
              >
                {t('people.suspended')}
              </Badge>
            )}
          </Group>
          <Text size="xs" c="dimmed" className="wrap">
            {user.email}
          </Text>
        </Stack>
      ),
    },
    { key: 'role', title: t('people.role'), cell: (member) => t(`common.role.${member.role}`) },
    {
      key: 'verified',
      title: t('people.verified'),
      from: 'md',
      cell: ({ user }) => (user.emailVerified ? t('people.verifiedYes') : t('people.verifiedNo')),
    },
    { key: 'since', title: t('people.since'), from: 'sm', cell: (member) => formatDate(member.createdAt) },
  ];
  if (isAdmin) {
    columns.push({
      key: 'actions',
      title: t('common.actions'),
      align: 'right',
      width: '5rem',
      cell: (member) => {
        const isSelf = member.user.id === me.user.id;
        const others = choices(me.role, member.role, isSelf).filter((one) => one !== member.role);
        const manages = !isSelf && mayManage(me.role, member.role);
        if (others.length === 0 && !manages) return null;
        return (
          <Menu position="bottom-end">
            <Menu.Target>
              <ActionIcon variant="subtle" color="gray" aria-label={t('people.actionsOf', { name: member.user.name })}>
                <Icon name="more" />
              </ActionIcon>
            </Menu.Target>
            <Menu.Dropdown>
              {others.length > 0 && (
                <Menu.Item leftSection={<Icon name="edit" size={16} />} onClick={() => setChanging(member)}>
                  {t('people.changeRole')}
                </Menu.Item>
              )}
              {manages && (
                <>
                  <Menu.Item leftSection={<Icon name="key" size={16} />} onClick={() => void onPassword(member)}>
                    {t('people.passwordLink')}
                  </Menu.Item>
                  <Menu.Item c="red" leftSection={<Icon name="trash" size={16} />} onClick={() => void onRemove(member)}>
                    {t('people.remove')}
                  </Menu.Item>
                </>
              )}
            </Menu.Dropdown>
          </Menu>
        );
      },
    });
  }
  return (
    <Stack>
      <Group>
        <TextInput
          key={text === undefined ? 'none' : 'some'}
          aria-label={t('people.findMember')}
          placeholder={t('people.findMember')}
          leftSection={<Icon name="search" size={16} />}
          defaultValue={text ?? ''}
          onChange={(event) => type(event.currentTarget.value)}
          flex="1 1 14rem"
        />
        <Select
          aria-label={t('people.role')}
          placeholder={t('people.allRoles')}
          data={roles.map((value) => ({ value, label: t(`common.role.${value}`) }))}
          value={role ?? null}
          onChange={(value) => filter({ role: (value as Role | null) ?? undefined })}
          clearable
          clearButtonProps={{ 'aria-label': t('common.clear') }}
          w="12rem"
        />
      </Group>
      <DataTable
        label={t('people.tab.members')}
        columns={columns}
        list={list}
        rowKey={(member) => member.id}
        empty={
          <Empty icon="people" title={t('people.noMember')}>
            {t('people.noMemberHelp')}
          </Empty>
        }
      />
      {!isAdmin && (
        <Text size="sm" c="dimmed">
          {t('people.viewerNote')}
        </Text>
      )}
      <ChangeRole member={changing} onClose={() => setChanging(null)} onChanged={list.reload} />
      <ShownLink
        title={link ? t('people.passwordFor', { name: link.name }) : ''}
        url={link?.url ?? null}
        expiresAt={link?.expiresAt ?? null}
        help={t('people.passwordShown')}
        onClose={() => setLink(null)}
      />
    </Stack>
  );
}
